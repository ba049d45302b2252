"use strict";
// The map as something one moves: by mouse, touch and keyboard.

const MOST_SCALE = 400000, REACH = 14; // pixels from a row within which a click chooses it
const canvas = byId("map");
let asked = false;

/** Paint before the next frame, however often this is called. */
function askToPaint() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    if (view.width && state.view === "map") {
      paint(canvas);
      describe();
    }
  });
}

function describe() {
  const total = shownRows, inView = painting.inView.length;
  const filtered = total < rows.n ? " of " + count(total, "row") + " not filtered out" : "";
  byId("seen").textContent = count(inView, "row") + " in view" + (inView < total ? filtered || " of " + total.toLocaleString("en") : filtered);
  byId("export-map").disabled = !inView;
}

function fit() {
  const box = canvas.parentElement.getBoundingClientRect();
  if (!box.width || !box.height) return;
  const first = !view.width;
  view.width = box.width;
  view.height = box.height;
  view.ratio = Math.min(2, window.devicePixelRatio || 1);
  canvas.width = Math.round(view.width * view.ratio);
  canvas.height = Math.round(view.height * view.ratio);
  if (first) wholeMap();
  askToPaint();
}

function wholeMap() {
  let [left, right, top, bottom] = [1, 0, 1, 0];
  for (let row = 0; row < rows.n; row++) {
    if (!visible[row]) continue;
    left = Math.min(left, xs[row]); right = Math.max(right, xs[row]);
    top = Math.min(top, ys[row]); bottom = Math.max(bottom, ys[row]);
  }
  if (left > right) [left, right, top, bottom] = [0, 1, 0, 1];
  const [wide, high] = [Math.max(right - left, 0.001), Math.max(bottom - top, 0.001)];
  view.scale = Math.min((view.width - 50) / wide, (view.height - 90) / high, MOST_SCALE);
  view.x = (left + right) / 2;
  view.y = (top + bottom) / 2 + 12 / view.scale;
  askToPaint();
}

function zoom(factor, x = view.width / 2, y = view.height / 2) {
  const scale = Math.min(MOST_SCALE, Math.max(60, view.scale * factor));
  const shift = 1 / view.scale - 1 / scale;
  view.x += (x - view.width / 2) * shift;
  view.y += (y - view.height / 2) * shift;
  view.scale = scale;
  askToPaint();
}

function pan(dx, dy) {
  view.x = Math.min(1.2, Math.max(-0.2, view.x - dx / view.scale));
  view.y = Math.min(1.2, Math.max(-0.2, view.y - dy / view.scale));
  askToPaint();
}

/** The shown row nearest to a place of the canvas, or -1 where none is within reach. */
function rowAt(x, y, reach) {
  let best = -1, least = reach * reach;
  for (const row of painting.inView) {
    const [px, py] = onCanvas(row), square = (px - x) ** 2 + (py - y) ** 2;
    if (square <= least) [best, least] = [row, square];
  }
  return best;
}

/** Bring a row into view where it is not. */
function showRow(row) {
  const [x, y] = onCanvas(row);
  if (x > 30 && y > 30 && x < view.width - 30 && y < view.height - 60) return;
  view.x = xs[row];
  view.y = ys[row];
  askToPaint();
}

function showTip(row, x, y) {
  const tip = byId("tip");
  tip.hidden = row < 0;
  if (row < 0) return;
  tip.replaceChildren("Row ", words(String(idOf(row))), facts.kind ? ": " : "", words(labelText(row)));
  if (textOf(row)) tip.append(make("br"), words(textOf(row).slice(0, 120)));
  tip.style.left = Math.min(x + 12, view.width - tip.offsetWidth - 4) + "px";
  tip.style.top = Math.min(y + 14, view.height - tip.offsetHeight - 4) + "px";
}

function listenToPointers() {
  const fingers = new Map();
  let moved = 0;
  const place = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    if (!fingers.size) moved = 0;
    fingers.set(event.pointerId, place(event));
    showTip(-1);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = place(event), before = fingers.get(event.pointerId);
    if (!before) {
      if (event.pointerType === "mouse") showTip(rowAt(x, y, 8), x, y);
      return;
    }
    const others = [...fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    moved += Math.abs(x - before[0]) + Math.abs(y - before[1]);
    if (!others.length) {
      canvas.classList.add("dragging");
      pan(x - before[0], y - before[1]);
    } else {
      const [ox, oy] = others[0], was = Math.hypot(before[0] - ox, before[1] - oy), is = Math.hypot(x - ox, y - oy);
      zoom(is / Math.max(1, was), (x + ox) / 2, (y + oy) / 2);
    }
    fingers.set(event.pointerId, [x, y]);
  });
  const lift = (event) => {
    const alone = fingers.size === 1 && fingers.has(event.pointerId);
    fingers.delete(event.pointerId);
    canvas.classList.remove("dragging");
    if (event.type === "pointerup" && alone && moved < 6) {
      const row = rowAt(...place(event), REACH);
      if (row >= 0) chooseRow(row);
    }
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", () => showTip(-1));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-Math.max(-200, Math.min(200, event.deltaY)) * 0.002), ...place(event));
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => zoom(2, ...place(event)));
}

function listenToKeys() {
  const steps = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (steps[event.key]) pan(...steps[event.key]);
    else if (event.key === "+" || event.key === "=") zoom(1.5);
    else if (event.key === "-") zoom(1 / 1.5);
    else if (event.key === "0") wholeMap();
    else if (event.key === "Enter") {
      const row = rowAt(view.width / 2, view.height / 2, 1e6);
      if (row >= 0) chooseRow(row);
    } else return;
    event.preventDefault();
  });
}

function startMap() {
  canvas.setAttribute("aria-label", "Map of " + count(rows.n, "row") + ": rows with near codes stand near to each other");
  new ResizeObserver(fit).observe(canvas.parentElement);
  listenToPointers();
  listenToKeys();
  byId("zoom-in").addEventListener("click", () => zoom(1.6));
  byId("zoom-out").addEventListener("click", () => zoom(1 / 1.6));
  byId("zoom-all").addEventListener("click", wholeMap);
  byId("export-map").addEventListener("click", () => exportRows("rows.csv", painting.inView));
  const recolor = () => { painting.colors = painting.theme = null; askToPaint(); };
  listen("color", recolor);
  listen("filter", recolor);
  listen("theme", recolor);
  listen("view", askToPaint);
  listen("row", () => {
    if (state.row >= 0 && view.width) showRow(state.row);
    if (state.color === "distance") painting.colors = null;
    askToPaint();
  });
  fit();
}
