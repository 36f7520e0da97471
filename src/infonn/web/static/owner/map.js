// The map of the items: names or thumbnails where the answers place them, to be zoomed, dragged and asked.

import { $ } from "../shared/dom.js";
import { Figure } from "./figures.js";

const MARGIN = 46; // pixels around the outermost items
const NEIGHBOURS = 4;
const THUMB = 38;
const MOST_THUMBS = 150;
const MOST_HALOS = 300; // items beyond that show how uncertain they are when they are asked about
const NEAR = 24; // pixels from an item at which it is meant
const SETTLED_MS = 120; // after the last turn of the wheel, names and images are dealt anew
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
    this.highlight();
    this.say();
  }

  // --- what is drawn ------------------------------------------------------------------------------

  describe(colours, size) {
    const view = this.look(size);
    if (size.width === this.figure.size.width) this.drawn = view; // a saved file has a size of its own
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
    const thumbs = this.thumbs(places, size);
    const names = this.names(places, size);
    const halos = this.items.length <= MOST_HALOS ? this.items.map(({ spread }) => haloOf(spread, view.unit)) : [];
    const [x, y] = [this.points.map((p) => p[0]), this.points.map((p) => p[1])];
    const quiet = { hoverinfo: "skip", showlegend: false };
    const data = [
      ...(halos.length ? [{ ...quiet, x, y, mode: "markers", opacity: 0.14, marker: { color: colours.accent, line: { width: 0 }, size: halos } }] : []),
      {
        ...quiet, x, y, mode: "markers+text",
        marker: { color: colours.accent, size: this.items.map((_, i) => (thumbs.has(i) ? 0 : 8)), line: { width: 0 } },
        text: names.map(({ text }) => text),
        textposition: names.map(({ left }) => (left ? "middle left" : "middle right")),
        textfont: { size: 12, color: colours.ink },
        cliponaxis: true,
      },
    ];
    const side = THUMB / view.unit;
    const images = [...thumbs].map((i) => ({ source: this.items[i].image, x: x[i], y: y[i], xref: "x", yref: "y", sizex: side, sizey: side, xanchor: "center", yanchor: "middle" }));
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

  /** Items shown by their image: those with room for it. */
  thumbs(places, { width, height }) {
    const chosen = new Set();
    const free = new Boxes();
    for (const i of this.items.keys()) {
      const [x, y] = places[i];
      const inside = x > 0 && x < width && y > 0 && y < height;
      if (!this.items[i].image || !inside || chosen.size >= MOST_THUMBS) continue;
      const half = THUMB * 0.4;
      if (free.take([x - half, y - half, x + half, y + half])) chosen.add(i);
    }
    return chosen;
  }

  /** Names that would lie on another one wait for more zoom; images need none until they are asked about. */
  names(places, { width, height }) {
    const free = new Boxes();
    const names = this.items.map(() => ({ text: "", left: false }));
    for (const i of this.items.keys()) {
      const [x, y] = places[i];
      if (this.items[i].image || x < 0 || x > width || y < 0 || y > height) continue;
      const text = short(this.items[i].name);
      const wide = text.length * 6.7 + 5;
      const left = x + wide + 4 > width;
      const box = left ? [x - wide, y - 8, x - 4, y + 8] : [x + 4, y - 8, x + wide, y + 8];
      if (free.take(box)) names[i] = { text, left };
    }
    return names;
  }

  /** What is asked about, with its nearest, above a veil over all else: the map itself need not be drawn again. */
  highlight() {
    this.above ??= this.place.appendChild(svg("svg", { class: "above", "aria-hidden": "true" }));
    if (this.picked === null) return this.above.replaceChildren();
    const size = this.figure.size;
    const view = this.look(size);
    const first = [this.picked, ...this.nearest(this.picked)];
    const places = first.map((i) => view.at(this.points[i]));
    const [x0, y0] = places[0];
    const { spread } = this.items[this.picked];
    this.above.replaceChildren(
      svg("rect", { class: "veil", width: "100%", height: "100%" }),
      svg("circle", { class: "halo", cx: x0, cy: y0, r: haloOf(spread, view.unit) / 2 }),
      ...places.slice(1).map(([x, y]) => svg("line", { x1: x0, y1: y0, x2: x, y2: y })),
      ...first.toReversed().flatMap((i, turn) => this.item(i, places[first.length - 1 - turn], size)),
    );
  }

  /** One item of those asked about: its image or dot, and its name. */
  item(i, [x, y], { width }) {
    const { image, name } = this.items[i];
    const gap = image ? THUMB / 2 + 4 : 8;
    const left = x + gap + short(name).length * 6.7 > width;
    const shape = image ? svg("image", { href: image, x: x - THUMB / 2, y: y - THUMB / 2, width: THUMB, height: THUMB }) : svg("circle", { cx: x, cy: y, r: 4 });
    const text = svg("text", { x: left ? x - gap : x + gap, y: y + 4, "text-anchor": left ? "end" : "start" });
    text.textContent = short(name);
    return [shape, text];
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
    this.highlight();
    this.say();
  }

  say() {
    if (this.picked === null) return (this.caption.textContent = HELP);
    const { name, spread } = this.items[this.picked];
    const sure = spread === null ? "" : ` Its place is known to ±${spread.toPrecision(2)}.`;
    this.caption.textContent = `${name}: nearest are ${this.nearest(this.picked).map((j) => this.items[j].name).join(", ")}.${sure}`;
  }

  /** Zoom around a place on the screen, by default the middle. What is drawn is stretched at once, and drawn anew when it has settled. */
  zoomBy(factor, at = null) {
    const { width, height } = this.figure.size;
    const [x, y] = at ?? [width / 2, height / 2];
    const before = this.look({ width, height });
    this.zoom = clamped(this.zoom * factor);
    const unit = before.whole * this.zoom;
    const shift = 1 / before.unit - 1 / unit; // what is under (x, y) stays there
    this.middle = [before.middle[0] + (x - width / 2) * shift, before.middle[1] - (y - height / 2) * shift];
    this.stretch();
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.settle(), SETTLED_MS);
  }

  stretch() {
    const { unit, middle } = this.look(this.figure.size);
    const [dx, dy] = [(this.drawn.middle[0] - middle[0]) * unit, (middle[1] - this.drawn.middle[1]) * unit];
    const same = unit === this.drawn.unit && !dx && !dy;
    const container = $(".plot-container", this.place);
    container.style.transform = same ? "" : `translate(${dx}px, ${dy}px) scale(${unit / this.drawn.unit})`;
    this.highlight();
  }

  async settle() {
    await this.figure.draw();
    this.stretch();
  }

  all() {
    Object.assign(this, { zoom: 1, middle: null, picked: null });
    this.settle();
    this.say();
  }

  listen() {
    this.place.on("plotly_relayout", (change) => {
      const [left, right, low, high] = ["xaxis.range[0]", "xaxis.range[1]", "yaxis.range[0]", "yaxis.range[1]"].map((key) => change[key]);
      if (left === undefined || low === undefined) return;
      const { width } = this.figure.size;
      this.zoom = clamped(width / (right - left) / this.look(this.figure.size).whole);
      this.middle = [(left + right) / 2, (low + high) / 2];
      this.settle();
    });
    this.place.addEventListener("wheel", (event) => (event.preventDefault(), this.zoomBy(Math.exp(-turned(event) / 500), this.spot(event))), { passive: false });
    this.place.on("plotly_relayouting", () => this.pick(null));
    this.place.addEventListener("pointermove", (event) => event.buttons || this.pick(this.under(event)));
    this.place.addEventListener("pointerup", (event) => this.pick(this.under(event)));
    this.place.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && this.pick(null));
    this.place.addEventListener("keydown", (event) => this.key(event));
    $("#zoom-in").addEventListener("click", () => this.zoomBy(1.5));
    $("#zoom-out").addEventListener("click", () => this.zoomBy(1 / 1.5));
    $("#zoom-all").addEventListener("click", () => this.all());
  }

  /** Where on the map the pointer is, in pixels. */
  spot(event) {
    const box = this.place.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** The item under the pointer. */
  under(event) {
    const [x, y] = this.spot(event);
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

function svg(name, properties) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(properties)) element.setAttribute(key, value);
  return element;
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

/** How far a wheel was turned, in pixels; some tell lines. */
const turned = ({ deltaY, deltaMode }) => deltaY * (deltaMode === 1 ? 16 : 1);
const clamped = (zoom) => Math.max(FARTHEST, Math.min(CLOSEST, zoom));
/** The diameter in pixels. */
const haloOf = (spread, unit) => Math.min(400, 2 * (spread ?? 0) * unit);
const short = (name) => (name.length > 26 ? `${name.slice(0, 25)}…` : name);
