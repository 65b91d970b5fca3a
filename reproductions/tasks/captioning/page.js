"use strict";
const { side, images } = JSON.parse(document.getElementById("data").textContent);
const find = id => document.getElementById(id), canvas = find("image"), pen = canvas.getContext("2d");
let shown = images.map((_, index) => index), at = 0, word = -1, picture = new Image();
const bytes = text => Uint8Array.from(atob(text), each => each.charCodeAt(0));

function draw() {
  const size = canvas.width, image = images[shown[at]];
  pen.globalCompositeOperation = "source-over";
  pen.clearRect(0, 0, size, size);
  pen.drawImage(picture, 0, 0, size, size);
  find("peak").textContent = "";
  if (word < 0) return;
  const shades = bytes(image.shades[word]), grid = document.createElement("canvas");
  grid.width = grid.height = side;
  const cells = new ImageData(side, side);
  shades.forEach((shade, cell) => { cells.data[4 * cell + 3] = Math.round(210 * (1 - shade / 255)); });
  grid.getContext("2d").putImageData(cells, 0, 0);
  pen.imageSmoothingEnabled = true;
  pen.imageSmoothingQuality = "high";
  pen.drawImage(grid, 0, 0, size, size);
  find("peak").textContent = "largest weight: " + image.peaks[word] + " times that of equal weights";
}

function choose(index) {
  word = index;
  find("words").querySelectorAll("button").forEach((button, place) =>
    button.setAttribute("aria-pressed", String(place === index)));
  draw();
}

function show() {
  const image = images[shown[at]];
  find("position").textContent = shown.length ? (at + 1) + " of " + shown.length : "no image has these words";
  find("main").hidden = !image;
  if (!image) return;
  find("name").textContent = image.name;
  canvas.setAttribute("aria-label", image.words.join(" "));
  find("words").replaceChildren(...image.words.map((text, index) => {
    const button = document.createElement("button");
    button.textContent = text;
    button.onclick = button.onmouseenter = button.onfocus = () => choose(index);
    return button;
  }));
  find("references").replaceChildren(...image.references.map(text => {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  }));
  picture = new Image();
  picture.onload = () => choose(-1);
  picture.src = "data:image/jpeg;base64," + image.jpeg;
}

function go(step) { if (shown.length) { at = (at + step + shown.length) % shown.length; show(); } }
find("previous").onclick = () => go(-1);
find("next").onclick = () => go(1);
find("search").oninput = event => {
  const wanted = event.target.value.toLowerCase();
  shown = images.map((_, index) => index).filter(index => {
    const image = images[index];
    return [image.name, image.words.join(" "), ...image.references].join("\n").toLowerCase().includes(wanted);
  });
  at = 0;
  show();
};
document.onkeydown = event => {
  if (event.target === find("search") || !shown.length) return;
  const words = images[shown[at]].words.length;
  if (event.key === "ArrowRight") choose(Math.min(word + 1, words - 1));
  else if (event.key === "ArrowLeft") choose(Math.max(word - 1, -1));
  else if (event.key === "PageDown") go(1);
  else if (event.key === "PageUp") go(-1);
  else return;
  event.preventDefault();
};
show();
