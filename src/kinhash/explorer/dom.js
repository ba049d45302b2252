"use strict";
// Small helpers: elements whose content is always text, numbers for people, and files to save.

/** An element with attributes and children; text is set as text, never as markup. */
function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function makeSvg(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/** A user's own words: their direction is their own. */
function words(text, attributes = {}) {
  return make("bdi", { dir: "auto", ...attributes }, text);
}

function byId(id) {
  return document.getElementById(id);
}

function count(number, thing) {
  const form = number === 1 ? thing : thing.endsWith("s") ? thing + "es" : thing + "s";
  return number.toLocaleString("en") + " " + form;
}

function percent(share) {
  if (share === null || Number.isNaN(share)) return "–";
  return share > 0 && share < 0.0005 ? "< 0.1 %" : (100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0) + " %";
}

/** Tell people who do not see the page what has changed. */
function announce(text) {
  byId("status").textContent = text;
}

/** One cell of a CSV file; text that a spreadsheet would take for a formula is kept from being one. */
function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? "'" + value : value;
  return /[",\n\r;]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
}

function csvText(heading, lines) {
  return [heading, ...lines].map((line) => line.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

/** Offer a table as a CSV file; the mark at its start makes spreadsheets read UTF-8. */
function saveCsv(name, heading, lines) {
  const blob = new Blob(["\ufeff", csvText(heading, lines)], { type: "text/csv;charset=utf-8" });
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  announce(count(lines.length, "row") + " exported to " + name);
}

// ---- pictures: cut from sheets that are decoded when first needed ------------------------------------

const sheets = facts.pictures ? new Array(facts.pictures.sheets).fill(null) : [];
const picturePlaces = facts.pictures ? numbersOf("picture-places", Int32Array) : null;

function hasPicture(row) {
  return picturePlaces !== null && picturePlaces[row] >= 0;
}

/** The sheet of a row's picture and where it lies there; `ready` is called once the sheet can be drawn. */
function pictureOf(row, ready) {
  const { side, columns, perSheet, kind } = facts.pictures;
  const number = Math.floor(picturePlaces[row] / perSheet), place = picturePlaces[row] % perSheet;
  if (sheets[number] === null) {
    const blob = new Blob([bytesOf("sheet-" + number)], { type: "image/" + kind });
    sheets[number] = { image: null, waiting: [] };
    createImageBitmap(blob).then((image) => {
      sheets[number].image = image;
      for (const call of sheets[number].waiting.splice(0)) call();
    });
  }
  if (!sheets[number].image && ready) sheets[number].waiting.push(ready);
  return { image: sheets[number].image, x: (place % columns) * side, y: Math.floor(place / columns) * side, side };
}

/** A row's picture as an element. */
function pictureElement(row) {
  const side = facts.pictures.side;
  const canvas = make("canvas", { width: side, height: side, role: "img", "aria-label": "picture of row " + idOf(row), class: "picture" });
  function draw() {
    const cut = pictureOf(row, draw);
    if (cut.image) canvas.getContext("2d").drawImage(cut.image, cut.x, cut.y, side, side, 0, 0, side, side);
  }
  draw();
  return canvas;
}
