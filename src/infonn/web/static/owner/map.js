// The map of the items: names or thumbnails where the answers place them, to be zoomed, dragged and asked.

import { $, svg } from "../shared/dom.js";

const [WIDTH, HEIGHT] = [720, 560];
const MARGIN = 52;
const NEIGHBOURS = 4;
const THUMB = 34;

export class ItemMap {
  constructor(place, caption) {
    Object.assign(this, { place, caption, items: [], points: [], zoom: 1, shift: [0, 0], picked: null, held: null });
    this.layer = svg("g");
    this.drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "application", "aria-roledescription": "map", "aria-label": "Map of the items", tabindex: 0 }, this.layer);
    this.empty = svg("text", { x: WIDTH / 2, y: HEIGHT / 2, "text-anchor": "middle", fill: "var(--quiet)", "font-size": 15 }, "The first fit draws the map.");
    this.drawing.append(this.empty);
    place.replaceChildren(this.drawing);
    this.listen();
  }

  update(items) {
    const plane = items.map((item) => item.plane);
    this.points = this.items.length === items.length ? turnedLike(plane, this.raw) : plane;
    this.raw = this.points;
    const changed = this.items.length !== items.length;
    this.items = items;
    this.empty.remove();
    this.scale = fit(this.points);
    if (changed) this.build();
    this.draw();
  }

  build() {
    this.marks = this.items.map((item, i) => {
      const halo = item.spread === null ? null : svg("circle", { fill: "var(--accent)" });
      const face = item.image
        ? svg("image", { href: item.image, x: -THUMB / 2, y: -THUMB / 2, width: THUMB, height: THUMB })
        : svg("circle", { r: 4, fill: "var(--accent)" });
      const name = svg("text", { x: 7, y: 4, "font-size": 12, "font-family": "system-ui, sans-serif", fill: "var(--ink)", stroke: "var(--ground)", "stroke-width": 3, "paint-order": "stroke" }, short(item.name));
      const mark = svg("g", { "data-item": i }, face, item.image ? null : name);
      return { mark, halo, name: item.image ? null : name };
    });
    this.lines = svg("g", { stroke: "var(--bar)", "stroke-width": 2 });
    const halos = svg("g", { opacity: 0.14 }, this.marks.map(({ halo }) => halo)); // behind everything
    this.layer.replaceChildren(halos, this.lines, ...this.marks.map(({ mark }) => mark));
  }

  /** Where an item stands on the drawing. */
  at(i) {
    const [x, y] = this.scale(this.points[i]);
    return [(x - WIDTH / 2) * this.zoom + WIDTH / 2 + this.shift[0], (y - HEIGHT / 2) * this.zoom + HEIGHT / 2 + this.shift[1]];
  }

  draw() {
    if (!this.marks) return;
    const places = this.items.map((_, i) => this.at(i));
    this.marks.forEach(({ mark, halo }, i) => {
      const place = `translate(${places[i][0].toFixed(1)} ${places[i][1].toFixed(1)})`;
      mark.setAttribute("transform", place);
      halo?.setAttribute("transform", place);
      halo?.setAttribute("r", Math.min(200, this.items[i].spread * this.scale.unit * this.zoom).toFixed(1));
    });
    this.thinNames(places);
    this.connect(places);
  }

  /** Names that would lie on another one wait for more zoom; the item asked about and its neighbours come first. */
  thinNames(places) {
    const taken = [];
    const first = this.picked === null ? [] : [this.picked, ...this.nearest(this.picked)];
    const order = [...first, ...this.items.keys()].filter((i, at, all) => all.indexOf(i) === at);
    for (const i of order) {
      const { name } = this.marks[i];
      if (!name) continue;
      const wide = name.textContent.length * 6.6;
      const [x, y] = places[i];
      const right = x + 12 + wide < WIDTH;
      const box = [right ? x + 5 : x - 7 - wide, y - 8, right ? x + 7 + wide : x - 5, y + 8];
      const free = taken.every((other) => box[2] < other[0] || box[0] > other[2] || box[3] < other[1] || box[1] > other[3]);
      if (free) taken.push(box);
      name.setAttribute("visibility", free ? "visible" : "hidden");
      name.setAttribute("x", right ? 7 : -7);
      name.setAttribute("text-anchor", right ? "start" : "end");
    }
  }

  /** By all coordinates, not only the two that are drawn. */
  nearest(i) {
    const from = this.items[i].coordinates;
    const distance = (j) => this.items[j].coordinates.reduce((sum, value, d) => sum + (value - from[d]) ** 2, 0);
    return [...this.items.keys()].filter((j) => j !== i).map((j) => [distance(j), j]).sort((a, b) => a[0] - b[0]).slice(0, NEIGHBOURS).map(([, j]) => j);
  }

  connect(places) {
    this.lines.replaceChildren();
    this.marks.forEach(({ mark }) => mark.removeAttribute("opacity"));
    if (this.picked === null) {
      this.caption.textContent = "Point at an item to see what is nearest to it. Scroll or pinch to zoom, drag to move.";
      return;
    }
    const near = this.nearest(this.picked);
    const [x1, y1] = places[this.picked];
    this.lines.append(...near.map((j) => svg("line", { x1, y1, x2: places[j][0], y2: places[j][1] })));
    this.marks.forEach(({ mark }, i) => i !== this.picked && !near.includes(i) && mark.setAttribute("opacity", 0.3));
    this.caption.textContent = `${this.items[this.picked].name}: nearest are ${near.map((j) => this.items[j].name).join(", ")}.`;
  }

  pick(i) {
    if (this.picked === i) return;
    this.picked = i;
    this.draw();
  }

  zoomBy(factor, [x, y] = [WIDTH / 2, HEIGHT / 2]) {
    const next = Math.max(0.8, Math.min(40, this.zoom * factor));
    const real = next / this.zoom;
    this.shift = [x - WIDTH / 2 - (x - WIDTH / 2 - this.shift[0]) * real, y - HEIGHT / 2 - (y - HEIGHT / 2 - this.shift[1]) * real];
    this.zoom = next;
    this.draw();
  }

  all() {
    Object.assign(this, { zoom: 1, shift: [0, 0], picked: null });
    this.draw();
  }

  listen() {
    const pointers = new Map();
    const where = (event) => {
      const box = this.drawing.getBoundingClientRect();
      return [((event.clientX - box.left) / box.width) * WIDTH, ((event.clientY - box.top) / box.height) * HEIGHT];
    };
    this.drawing.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY / 400), where(event));
    }, { passive: false });
    this.drawing.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, where(event));
      this.drawing.setPointerCapture(event.pointerId);
    });
    this.drawing.addEventListener("pointermove", (event) => {
      const now = where(event);
      const before = pointers.get(event.pointerId);
      if (!before) return this.hover(now);
      if (pointers.size === 2) {
        const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
        const apart = (a) => Math.hypot(a[0] - other[0], a[1] - other[1]);
        this.zoomBy(apart(now) / Math.max(1, apart(before)), [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2]);
      } else {
        this.shift = [this.shift[0] + now[0] - before[0], this.shift[1] + now[1] - before[1]];
        this.draw();
      }
      pointers.set(event.pointerId, now);
    });
    for (const name of ["pointerup", "pointercancel"]) {
      this.drawing.addEventListener(name, (event) => {
        pointers.delete(event.pointerId);
        if (event.pointerType !== "mouse") this.hover(where(event));
      });
    }
    this.drawing.addEventListener("pointerleave", () => this.pick(null));
    this.drawing.addEventListener("keydown", (event) => {
      const n = this.items.length;
      if (!n) return;
      const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
      if (event.key in steps) this.pick(((this.picked ?? -1) + steps[event.key] + n) % n);
      else if (event.key === "+") this.zoomBy(1.4);
      else if (event.key === "-") this.zoomBy(1 / 1.4);
      else if (event.key === "0" || event.key === "Escape") this.all();
      else return;
      event.preventDefault();
    });
    $("#zoom-in").addEventListener("click", () => this.zoomBy(1.5));
    $("#zoom-out").addEventListener("click", () => this.zoomBy(1 / 1.5));
    $("#zoom-all").addEventListener("click", () => this.all());
  }

  hover([x, y]) {
    let best = null;
    this.items.forEach((_, i) => {
      const [px, py] = this.at(i);
      const distance = Math.hypot(px - x, py - y);
      if (distance < 26 && (best === null || distance < best[0])) best = [distance, i];
    });
    this.pick(best ? best[1] : null);
  }
}

/** plane -> drawing, the same unit in both directions. */
function fit(points) {
  const range = (axis) => [Math.min(...points.map((p) => p[axis])), Math.max(...points.map((p) => p[axis]))];
  const [[left, right], [low, high]] = [range(0), range(1)];
  const unit = Math.min((WIDTH - 2 * MARGIN) / (right - left || 1), (HEIGHT - 2 * MARGIN) / (high - low || 1));
  const scale = ([x, y]) => [WIDTH / 2 + (x - (left + right) / 2) * unit, HEIGHT / 2 - (y - (low + high) / 2) * unit];
  scale.unit = unit;
  return scale;
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

const short = (name) => (name.length > 26 ? `${name.slice(0, 25)}…` : name);
