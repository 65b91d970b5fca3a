"use strict";
(() => {
  const drive = JSON.parse(document.getElementById("data").textContent);
  const [rows, columns] = drive.grid;
  const frames = drive.images.length;
  const element = (id) => document.getElementById(id);
  const view = element("view"), curve = element("curve");
  const picture = view.getContext("2d"), plot = curve.getContext("2d");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const image = new Image();
  let current = 0, timer = 0;

  function shade(code) {
    const bytes = atob(code);
    const small = document.createElement("canvas");
    small.width = columns;
    small.height = rows;
    const context = small.getContext("2d");
    const pixels = context.createImageData(columns, rows);
    for (let cell = 0; cell < rows * columns; cell += 1) {
      pixels.data[4 * cell + 3] = 210 * (1 - bytes.charCodeAt(cell) / 255);
    }
    context.putImageData(pixels, 0, 0);
    return small;
  }

  function drawFrame() {
    picture.imageSmoothingEnabled = true;
    picture.drawImage(image, 0, 0, view.width, view.height);
    const overlay = element("overlay").value;
    if (overlay) picture.drawImage(shade(drive[overlay][current]), 0, 0, view.width, view.height);
    for (const [name, degrees] of [["--driver", drive.target[current]], ["--network", drive.degrees[current]]]) {
      const angle = (3 * degrees * Math.PI) / 180;
      picture.strokeStyle = colour(name);
      picture.lineWidth = 4;
      picture.beginPath();
      picture.moveTo(view.width / 2, view.height - 12);
      picture.lineTo(view.width / 2 + 110 * Math.sin(angle), view.height - 12 - 110 * Math.cos(angle));
      picture.stroke();
    }
  }

  function drawCurve() {
    const most = Math.max(1, ...drive.target.map(Math.abs), ...drive.degrees.map(Math.abs));
    const x = (frame) => (frame / Math.max(1, frames - 1)) * curve.width;
    const y = (degrees) => curve.height / 2 - (degrees / most) * (curve.height / 2 - 6);
    plot.clearRect(0, 0, curve.width, curve.height);
    plot.fillStyle = colour("--line");
    plot.fillRect(0, y(0), curve.width, 1);
    plot.fillRect(x(current) - 1, 0, 2, curve.height);
    for (const [name, values] of [["--driver", drive.target], ["--network", drive.degrees]]) {
      plot.strokeStyle = colour(name);
      plot.lineWidth = 1.5;
      plot.beginPath();
      values.forEach((degrees, frame) => {
        // A line would be wrong where a test block ends and the next begins.
        const jump = frame > 0 && drive.seconds[frame] - drive.seconds[frame - 1] > 5;
        if (frame === 0 || jump) plot.moveTo(x(frame), y(degrees));
        else plot.lineTo(x(frame), y(degrees));
      });
      plot.stroke();
    }
  }

  function show(frame) {
    current = Math.min(frames - 1, Math.max(0, frame));
    element("frame").value = String(current);
    image.src = "data:image/jpeg;base64," + drive.images[current];
    const signed = (degrees) => (degrees > 0 ? "+" : "") + degrees.toFixed(1) + "°";
    element("state").textContent =
      `${drive.seconds[current].toFixed(1)} s: driver ${signed(drive.target[current])}, ` +
      `network ${signed(drive.degrees[current])}`;
    drawCurve();
  }

  function play(on) {
    clearInterval(timer);
    timer = on ? setInterval(() => show((current + 1) % frames), 200) : 0;
    element("play").textContent = on ? "Pause" : "Play";
  }

  image.addEventListener("load", drawFrame);
  element("play").addEventListener("click", () => play(!timer));
  element("frame").addEventListener("input", (event) => show(Number(event.target.value)));
  element("overlay").addEventListener("change", drawFrame);
  document.addEventListener("keydown", (event) => {
    if (["INPUT", "SELECT", "BUTTON"].includes(event.target.tagName)) return;
    if (event.key === " ") { play(!timer); event.preventDefault(); }
    if (event.key === "ArrowRight") show(current + 1);
    if (event.key === "ArrowLeft") show(current - 1);
  });
  show(0);
})();
