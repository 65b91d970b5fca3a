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
      picture.lineCap = "round";
      picture.beginPath();
      picture.moveTo(view.width / 2, view.height - 12);
      picture.lineTo(view.width / 2 + 110 * Math.sin(angle), view.height - 12 - 110 * Math.cos(angle));
      // An edge in the colour of the ground keeps a needle visible on a dark frame and on a bright one.
      for (const [width, edge] of [[9, "--ground"], [5, name]]) {
        picture.lineWidth = width;
        picture.strokeStyle = colour(edge);
        picture.stroke();
      }
    }
  }

  const most = drive.target.concat(drive.degrees).reduce((most, degrees) => Math.max(most, Math.abs(degrees)), 1);
  // A line would be wrong where a test block ends and the next begins.
  const begins = (frame) => frame > 0 && drive.seconds[frame] - drive.seconds[frame - 1] > 5;

  function drawCurve() {
    const scale = window.devicePixelRatio || 1, width = curve.clientWidth, height = curve.clientHeight, left = 44;
    curve.width = Math.round(width * scale);
    curve.height = Math.round(height * scale);
    plot.setTransform(scale, 0, 0, scale, 0, 0);
    const x = (frame) => left + (frame / Math.max(1, frames - 1)) * (width - left - 4);
    const y = (degrees) => height / 2 - (degrees / most) * (height / 2 - 12);
    plot.font = "12px system-ui, sans-serif";
    plot.textAlign = "right";
    plot.textBaseline = "middle";
    for (const degrees of [most, 0, -most]) {
      plot.fillStyle = colour("--muted");
      plot.fillText((degrees ? (degrees > 0 ? "+" : "\u2212") + most.toFixed(1) : "0") + "°", left - 6, y(degrees));
      plot.fillStyle = colour("--line");
      plot.fillRect(left, y(degrees), width - left, 1);
    }
    for (let frame = 0; frame < frames; frame += 1) {
      if (begins(frame)) plot.fillRect((x(frame - 1) + x(frame)) / 2, 0, 2, height);
    }
    for (const [name, values] of [["--driver", drive.target], ["--network", drive.degrees]]) {
      plot.strokeStyle = colour(name);
      plot.lineWidth = 1.5;
      plot.beginPath();
      values.forEach((degrees, frame) => {
        if (frame === 0 || begins(frame)) plot.moveTo(x(frame), y(degrees));
        else plot.lineTo(x(frame), y(degrees));
      });
      plot.stroke();
    }
    plot.fillStyle = colour("--now");
    plot.fillRect(x(current) - 1, 0, 2, height);
  }

  function frameAt(event) {
    const box = curve.getBoundingClientRect(), left = 44;
    return Math.round(((event.clientX - box.left - left) / (box.width - left - 4)) * (frames - 1));
  }

  function show(frame) {
    current = Math.min(frames - 1, Math.max(0, frame));
    element("frame").value = String(current);
    element("frame").setAttribute("aria-valuetext", `frame ${current + 1} of ${frames}`);
    image.src = "data:image/jpeg;base64," + drive.images[current];
    const signed = (degrees) => {
      const text = Math.abs(degrees).toFixed(1);
      return (text === "0.0" ? "" : degrees < 0 ? "\u2212" : "+") + text + "°";
    };
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
    if (["INPUT", "SELECT"].includes(event.target.tagName) || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === " " && event.target.tagName !== "BUTTON") { play(!timer); event.preventDefault(); }
    if (event.key === "ArrowRight") show(current + 1);
    if (event.key === "ArrowLeft") show(current - 1);
  });
  curve.addEventListener("click", (event) => show(frameAt(event)));
  window.addEventListener("resize", drawCurve);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { drawCurve(); drawFrame(); });
  show(0);
})();
