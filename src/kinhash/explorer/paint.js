"use strict";
// Drawing the map: density when zoomed out, then dots, then pictures or text when zoomed in. All pixels are computed here,
// so that fifty thousand rows move as smoothly without a graphics card.

const CELL = 3; // side of a cell of the density, in pixels of the page
const CROWD = 0.012; // rows per pixel of the page beyond which their density is drawn
const NEAR_ROWS = 2000; // rows in view up to which pictures or texts are drawn
const SMALLEST = 20, LARGEST = 48; // sides of a picture on the map, the fewer rows the larger

const view = { x: 0.5, y: 0.5, scale: 500, width: 0, height: 0, ratio: 1 };
const painting = { colors: null, theme: null, inView: new Uint32Array(0), mode: "", side: SMALLEST };
const kept = new Uint32Array(rows.n); // where the rows in view are gathered, frame after frame
const xs = new Float32Array(rows.n), ys = new Float32Array(rows.n);
for (let row = 0; row < rows.n; row++) {
  xs[row] = rows.places[2 * row] / 65535;
  ys[row] = 1 - rows.places[2 * row + 1] / 65535;
}

/** Where a row stands on the canvas, in pixels of the page. */
function onCanvas(row) {
  return [(xs[row] - view.x) * view.scale + view.width / 2, (ys[row] - view.y) * view.scale + view.height / 2];
}

function paint(canvas) {
  const context = canvas.getContext("2d", { alpha: false });
  if (!painting.colors) painting.colors = rowColors();
  if (!painting.theme) painting.theme = themeColors();
  const { theme } = painting, paper = rgb(theme.stage);
  const left = view.x - view.width / 2 / view.scale, top = view.y - view.height / 2 / view.scale;
  const right = left + view.width / view.scale, bottom = top + view.height / view.scale;
  let n = 0;
  for (let row = 0; row < rows.n; row++) {
    if (visible[row] && xs[row] >= left && xs[row] <= right && ys[row] >= top && ys[row] <= bottom) kept[n++] = row;
  }
  const inView = painting.inView = kept.subarray(0, n);
  const crowded = inView.length > 8000 || (inView.length > 2500 && crowding(inView, left, top) > CROWD);
  painting.mode = crowded ? "density" : inView.length <= NEAR_ROWS && (facts.pictures || facts.texts) ? "near" : "dots";
  if (crowded) paintDensity(context, inView, paper, left, top);
  else paintDots(context, inView, paper, left, top);
  if (painting.mode === "near") paintNear(context, inView, theme);
  paintChosen(context, theme);
}

/** Colors of the style sheet that the map needs, read once. */
function themeColors() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(["stage", "paper", "ink", "soft", "kin", "stranger"].map((name) => [name, style.getPropertyValue("--" + name).trim()]));
}

/** Rows per pixel where there are rows at all. */
function crowding(inView, left, top) {
  const columns = Math.ceil(view.width / 12), taken = new Uint8Array(columns * Math.ceil(view.height / 12) + columns);
  let cells = 0;
  for (const row of inView) {
    const cell = Math.floor(((ys[row] - top) * view.scale) / 12) * columns + Math.floor(((xs[row] - left) * view.scale) / 12);
    cells += 1 - taken[cell];
    taken[cell] = 1;
  }
  return inView.length / (144 * Math.max(1, cells)) / 4;
}

const density = { canvas: null, image: null, sums: null };

/** Sums and pixels of the cells; allocated again only when the size of the map changes. */
function densityCells(context, columns, lines) {
  if (!density.image || density.image.width !== columns || density.image.height !== lines) {
    density.canvas = make("canvas", { width: columns, height: lines });
    density.image = context.createImageData(columns, lines);
    density.sums = new Float32Array(4 * columns * lines);
  }
  density.sums.fill(0);
  return density;
}

/** Cells have the mean color of their rows, the fuller the stronger. */
function paintDensity(context, inView, paper, left, top) {
  const columns = Math.ceil(view.width / CELL), lines = Math.ceil(view.height / CELL);
  const { sums, image, canvas } = densityCells(context, columns, lines), colors = painting.colors, scale = view.scale / CELL;
  let fullest = 1;
  for (const row of inView) {
    const column = Math.min(columns - 1, ((xs[row] - left) * scale) | 0), line = Math.min(lines - 1, ((ys[row] - top) * scale) | 0);
    const at = 4 * (line * columns + column);
    sums[at] += colors[3 * row];
    sums[at + 1] += colors[3 * row + 1];
    sums[at + 2] += colors[3 * row + 2];
    sums[at + 3]++;
    if (sums[at + 3] > fullest) fullest = sums[at + 3];
  }
  const pixels = new Uint32Array(image.data.buffer), [red, green, blue] = paper, empty = (255 << 24) | (blue << 16) | (green << 8) | red;
  const strengths = Float32Array.from({ length: fullest + 1 }, (_, n) => 0.45 + 0.55 * Math.log(1 + n) / Math.log(1 + fullest));
  for (let at = 0, cell = 0; at < sums.length; at += 4, cell++) {
    const n = sums[at + 3], strength = strengths[n];
    pixels[cell] = !n ? empty : (255 << 24) | ((blue + strength * (sums[at + 2] / n - blue)) << 16)
      | ((green + strength * (sums[at + 1] / n - green)) << 8) | (red + strength * (sums[at] / n - red));
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
  const { ratio } = view;
  context.imageSmoothingEnabled = true;
  context.drawImage(canvas, 0, 0, columns * CELL * ratio, lines * CELL * ratio);
}

let dots = null; // the pixels of dots, made anew only where the size of the map has changed

/** Round dots with soft edges, stamped into the pixels. */
function paintDots(context, inView, paper, left, top) {
  const width = context.canvas.width, height = context.canvas.height, { ratio } = view;
  if (!dots || dots.width !== width || dots.height !== height) dots = context.createImageData(width, height);
  const image = dots, pixels = new Uint32Array(image.data.buffer);
  pixels.fill((255 << 24) | (paper[2] << 16) | (paper[1] << 8) | paper[0]);
  const radius = ratio * Math.min(5, Math.max(1.6, 60 / Math.sqrt(inView.length + 60) + 1));
  const stamp = roundStamp(radius), scale = view.scale * ratio, data = image.data, colors = painting.colors;
  for (const row of inView) {
    const x = Math.round((xs[row] - left) * scale), y = Math.round((ys[row] - top) * scale);
    for (let k = 0; k < stamp.length; k += 3) {
      const px = x + stamp[k], py = y + stamp[k + 1];
      if (px < 0 || py < 0 || px >= width || py >= height) continue;
      const at = 4 * (py * width + px), part = stamp[k + 2];
      data[at] += part * (colors[3 * row] - data[at]);
      data[at + 1] += part * (colors[3 * row + 1] - data[at + 1]);
      data[at + 2] += part * (colors[3 * row + 2] - data[at + 2]);
    }
  }
  context.putImageData(image, 0, 0);
}

/** Offsets and shares of the pixels of a dot: x, y, share, x, y, share, ... */
function roundStamp(radius) {
  const out = [], reach = Math.ceil(radius);
  for (let y = -reach; y <= reach; y++) {
    for (let x = -reach; x <= reach; x++) {
      const part = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(x, y))) * 0.85;
      if (part > 0) out.push(x, y, part);
    }
  }
  return out;
}

/** Pictures or texts of as many rows as have room: the first come, so they stay where they are while panning. */
function paintNear(context, inView, theme) {
  context.save();
  context.scale(view.ratio, view.ratio);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  painting.side = Math.min(LARGEST, Math.max(SMALLEST, 850 / Math.sqrt(inView.length)));
  const room = new Room();
  for (const row of state.row >= 0 && visible[state.row] ? [state.row, ...inView] : inView) {
    if (facts.pictures) paintPicture(context, row, room);
    else paintText(context, row, room, theme);
  }
  context.restore();
}

/** Which parts of the map are taken. They lie still in the map, not on the screen. */
class Room {
  constructor() {
    this.taken = new Set();
  }

  /** Take the rectangle beside a row, `wide` and `high` pixels large, unless some of it is taken. */
  take(row, wide, high) {
    const left = Math.floor((xs[row] * view.scale) / 14), top = Math.floor((ys[row] * view.scale) / 14), cells = [];
    for (let x = 0; x <= wide / 14; x++) {
      for (let y = 0; y <= high / 14; y++) cells.push((left + x) * 1e6 + top + y);
    }
    if (cells.some((cell) => this.taken.has(cell))) return false;
    for (const cell of cells) this.taken.add(cell);
    return true;
  }
}

function paintPicture(context, row, room) {
  const { side } = painting;
  if (!hasPicture(row) || !room.take(row, side, side)) return;
  const cut = pictureOf(row, askToPaint), [x, y] = onCanvas(row), half = side / 2;
  if (!cut.image) return;
  context.fillStyle = "rgb(" + painting.colors.subarray(3 * row, 3 * row + 3).join(",") + ")";
  context.fillRect(x - half - 2, y - half - 2, side + 4, side + 4);
  context.drawImage(cut.image, cut.x, cut.y, cut.side, cut.side, x - half, y - half, side, side);
}

function paintText(context, row, room, theme) {
  const text = textOf(row).slice(0, 24), [x, y] = onCanvas(row);
  if (!text || !room.take(row, 7 * text.length + 16, 14)) return;
  context.lineWidth = 3;
  context.strokeStyle = theme.stage;
  context.strokeText(text, x + 8, y);
  context.fillStyle = theme.ink;
  context.fillText(text, x + 8, y);
}

/** The chosen row in a double ring; its ten nearest, or those of a vector: similar rows ringed, dissimilar ones crossed. */
function paintChosen(context, theme) {
  if (!near) return;
  context.save();
  context.scale(view.ratio, view.ratio);
  context.lineWidth = 2;
  for (const row of near.order.subarray(0, 10)) {
    const [x, y] = onCanvas(row), kin = kinship(state.row, row);
    context.strokeStyle = kin === KIN ? theme.kin : kin === STRANGER ? theme.stranger : theme.soft;
    context.beginPath();
    if (kin === STRANGER) {
      context.moveTo(x - 6, y - 6); context.lineTo(x + 6, y + 6);
      context.moveTo(x + 6, y - 6); context.lineTo(x - 6, y + 6);
    } else context.arc(x, y, 7, 0, 7);
    context.stroke();
  }
  if (state.row >= 0) ringChosen(context, theme);
  context.restore();
}

function ringChosen(context, theme) {
  const [x, y] = onCanvas(state.row), radius = painting.mode === "near" && hasPicture(state.row) ? 0.8 * painting.side : 11;
  for (const [color, line] of [[theme.paper, 6], [theme.ink, 3]]) {
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
    context.strokeStyle = color;
    context.lineWidth = line;
    context.stroke();
  }
}
