// The map of the items: names or thumbnails where the answers place them, to be zoomed, dragged and asked.

import { $ } from "../shared/dom.js";
import { Figure, faint } from "./figures.js";

const MARGIN = 46; // pixels around the outermost items
const NEIGHBOURS = 4;
const THUMB = 38;
const MOST_THUMBS = 150;
const NEAR = 24; // pixels from an item at which it is meant
const [FARTHEST, CLOSEST] = [0.6, 40];
const HELP = "Point at an item to see what is nearest to it. Scroll to zoom, drag to move.";
const EMPTY = { text: "The first fit draws the map.", x: 0.5, y: 0.5, xref: "paper", yref: "paper", showarrow: false };

export class ItemMap {
  constructor(place, caption) {
    Object.assign(this, { place, caption, items: [], points: [], picked: null, zoom: 1, middle: null, held: false });
    this.figure = new Figure(place);
    this.figure.update((colours, size) => this.describe(colours, size)).then(() => this.listen());
    this.say();
  }

  async update(items) {
    const plane = items.map((item) => item.plane);
    this.points = this.items.length === items.length ? turnedLike(plane, this.points) : plane;
    this.items = items;
    if (this.picked >= items.length) this.picked = null;
    await this.figure.draw();
    this.say();
  }

  // --- what is drawn ------------------------------------------------------------------------------

  describe(colours, size) {
    const view = this.look(size);
    const hidden = { visible: false, fixedrange: false };
    const layout = {
      margin: { l: 0, r: 0, t: 0, b: 0 },
      hovermode: false,
      dragmode: "pan",
      showlegend: false,
      uirevision: null, // where the map is looked at is kept here
      xaxis: { ...hidden, range: view.across },
      yaxis: { ...hidden, range: view.up, scaleanchor: "x" },
    };
    if (!this.items.length) return { data: [], layout: { ...layout, annotations: [EMPTY] } };
    const places = this.points.map(view.at);
    const near = this.picked === null ? [] : this.nearest(this.picked);
    const first = this.picked === null ? [] : [this.picked, ...near];
    const thumbs = this.thumbs(places, size, first);
    const names = this.names(places, size, first);
    const strong = (i) => this.picked === null || first.includes(i);
    const [x, y] = [this.points.map((p) => p[0]), this.points.map((p) => p[1])];
    const quiet = { hoverinfo: "skip", showlegend: false };
    const data = [
      { ...quiet, x, y, mode: "markers", opacity: 0.14, marker: { color: colours.accent, line: { width: 0 }, size: this.items.map(({ spread }) => Math.min(400, 2 * (spread ?? 0) * view.unit)) } },
      { ...quiet, x: near.flatMap((j) => [x[this.picked], x[j], null]), y: near.flatMap((j) => [y[this.picked], y[j], null]), mode: "lines", line: { color: colours.bar, width: 2 } },
      {
        ...quiet, x, y, mode: "markers+text",
        marker: { color: colours.accent, size: this.items.map((_, i) => (thumbs.has(i) ? 0 : 8)), opacity: this.items.map((_, i) => (strong(i) ? 1 : 0.3)), line: { width: 0 } },
        text: names.map(({ text }) => text),
        textposition: names.map(({ left }) => (left ? "middle left" : "middle right")),
        textfont: { size: 12, color: names.map((_, i) => (strong(i) ? colours.ink : faint(colours.ink, 0.35))) },
        cliponaxis: true,
      },
    ];
    const side = THUMB / view.unit;
    const images = [...thumbs].map((i) => ({ source: this.items[i].image, x: x[i], y: y[i], xref: "x", yref: "y", sizex: side, sizey: side, xanchor: "center", yanchor: "middle", opacity: strong(i) ? 1 : 0.3 }));
    return { data, layout: { ...layout, images } };
  }

  /** From the plane to pixels, the same unit in both directions. */
  look({ width, height }) {
    const range = (axis) => this.points.reduce(([low, high], p) => [Math.min(low, p[axis]), Math.max(high, p[axis])], [Infinity, -Infinity]);
    const [[left, right], [low, high]] = this.points.length ? [range(0), range(1)] : [[0, 1], [0, 1]];
    const whole = Math.min((width - 2 * MARGIN) / (right - left || 1), (height - 2 * MARGIN) / (high - low || 1));
    const unit = Math.max(whole, 1e-9) * this.zoom;
    const [mx, my] = this.middle ?? [(left + right) / 2, (low + high) / 2];
    return {
      whole, unit, middle: [mx, my],
      across: [mx - width / 2 / unit, mx + width / 2 / unit],
      up: [my - height / 2 / unit, my + height / 2 / unit],
      at: ([x, y]) => [width / 2 + (x - mx) * unit, height / 2 - (y - my) * unit],
    };
  }

  /** Items shown by their image: those with room for it, and what is asked about. */
  thumbs(places, { width, height }, first) {
    const chosen = new Set();
    const free = new Boxes();
    for (const i of inTurn(first, this.items.length)) {
      const [x, y] = places[i];
      const inside = x > 0 && x < width && y > 0 && y < height;
      if (!this.items[i].image || !inside || chosen.size >= MOST_THUMBS) continue;
      const half = THUMB * 0.4;
      if (free.take([x - half, y - half, x + half, y + half]) || first.includes(i)) chosen.add(i);
    }
    return chosen;
  }

  /** Names that would lie on another one wait for more zoom; what is asked about comes first. Images need no names until then. */
  names(places, { width, height }, first) {
    const free = new Boxes();
    const names = this.items.map(() => ({ text: "", left: false }));
    for (const i of inTurn(first, this.items.length)) {
      const asked = first.includes(i);
      const [x, y] = places[i];
      if ((this.items[i].image && !asked) || x < 0 || x > width || y < 0 || y > height) continue;
      const text = short(this.items[i].name);
      const gap = this.items[i].image ? THUMB / 2 : 5;
      const wide = text.length * 6.7 + gap;
      const left = x + wide + 4 > width;
      const box = left ? [x - wide, y - 8, x - 4, y + 8] : [x + 4, y - 8, x + wide, y + 8];
      if (free.take(box) || asked) names[i] = { text: this.items[i].image ? `${left ? "" : "\u2003\u2002"}${text}${left ? "\u2003\u2002" : ""}` : text, left };
    }
    return names;
  }

  /** By all coordinates, not only the two that are drawn. */
  nearest(i) {
    const from = this.items[i].coordinates;
    const distance = (j) => this.items[j].coordinates.reduce((sum, value, d) => sum + (value - from[d]) ** 2, 0);
    return [...this.items.keys()].filter((j) => j !== i).map((j) => [distance(j), j]).sort((a, b) => a[0] - b[0]).slice(0, NEIGHBOURS).map(([, j]) => j);
  }

  // --- asking and looking around ------------------------------------------------------------------

  pick(i) {
    if (this.picked === i) return;
    this.picked = i;
    this.figure.draw();
    this.say();
  }

  say() {
    if (this.picked === null) return (this.caption.textContent = HELP);
    const { name, spread } = this.items[this.picked];
    const sure = spread === null ? "" : ` Its place is known to ±${spread.toPrecision(2)}.`;
    this.caption.textContent = `${name}: nearest are ${this.nearest(this.picked).map((j) => this.items[j].name).join(", ")}.${sure}`;
  }

  zoomBy(factor) {
    this.middle = this.look(this.figure.size).middle;
    this.zoom = clamped(this.zoom * factor);
    this.figure.draw();
  }

  all() {
    Object.assign(this, { zoom: 1, middle: null, picked: null });
    this.figure.draw();
    this.say();
  }

  listen() {
    this.place.on("plotly_relayout", (change) => {
      const [left, right, low, high] = ["xaxis.range[0]", "xaxis.range[1]", "yaxis.range[0]", "yaxis.range[1]"].map((key) => change[key]);
      if (left === undefined || low === undefined) return;
      const { width } = this.figure.size;
      this.zoom = clamped(width / (right - left) / this.look(this.figure.size).whole);
      this.middle = [(left + right) / 2, (low + high) / 2];
      this.figure.draw();
    });
    this.place.addEventListener("pointermove", (event) => event.buttons || this.pick(this.under(event)));
    this.place.addEventListener("pointerup", (event) => this.pick(this.under(event)));
    this.place.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && this.pick(null));
    this.place.addEventListener("keydown", (event) => this.key(event));
    $("#zoom-in").addEventListener("click", () => this.zoomBy(1.5));
    $("#zoom-out").addEventListener("click", () => this.zoomBy(1 / 1.5));
    $("#zoom-all").addEventListener("click", () => this.all());
  }

  /** The item under the pointer. */
  under(event) {
    const box = this.place.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const { at } = this.look(this.figure.size);
    let best = [NEAR, null];
    this.points.forEach((point, i) => {
      const [px, py] = at(point);
      const distance = Math.hypot(px - x, py - y);
      if (distance < best[0]) best = [distance, i];
    });
    return best[1];
  }

  key(event) {
    const n = this.items.length;
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (!n) return;
    if (event.key in steps) this.pick(((this.picked ?? (steps[event.key] > 0 ? -1 : 0)) + steps[event.key] + n) % n);
    else if (event.key === "+") this.zoomBy(1.4);
    else if (event.key === "-") this.zoomBy(1 / 1.4);
    else if (event.key === "0" || event.key === "Escape") this.all();
    else return;
    event.preventDefault();
  }
}

/** Rectangles that do not lie on each other. */
class Boxes {
  taken = [];

  take(box) {
    const free = this.taken.every((other) => box[2] < other[0] || box[0] > other[2] || box[3] < other[1] || box[1] > other[3]);
    if (free) this.taken.push(box);
    return free;
  }
}

/** An embedding is free to turn and flip between fits; turn it to where its items were. */
function turnedLike(points, before) {
  const mean = (all, axis) => all.reduce((sum, p) => sum + p[axis], 0) / all.length;
  const [mx, my, bx, by] = [mean(points, 0), mean(points, 1), mean(before, 0), mean(before, 1)];
  const sums = (flip) => points.reduce(([dot, cross], p, i) => {
    const [x, y] = [p[0] - mx, (p[1] - my) * flip];
    const [u, v] = [before[i][0] - bx, before[i][1] - by];
    return [dot + x * u + y * v, cross + x * v - y * u];
  }, [0, 0]);
  const [straight, flipped] = [sums(1), sums(-1)];
  const flip = Math.hypot(...flipped) > Math.hypot(...straight) ? -1 : 1;
  const [dot, cross] = flip === 1 ? straight : flipped;
  const size = Math.hypot(dot, cross) || 1;
  const [cos, sin] = [dot / size, cross / size];
  return points.map((p) => {
    const [x, y] = [p[0] - mx, (p[1] - my) * flip];
    return [x * cos - y * sin, x * sin + y * cos];
  });
}

const clamped = (zoom) => Math.max(FARTHEST, Math.min(CLOSEST, zoom));
const inTurn = (first, n) => [...new Set([...first, ...Array(n).keys()])];
const short = (name) => (name.length > 26 ? `${name.slice(0, 25)}…` : name);
