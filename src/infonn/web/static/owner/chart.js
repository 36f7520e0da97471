// The accuracy curve, drawn by hand: measured points with their interval, the forecast with its band, and chance.

import { svg } from "../shared/dom.js";

const [WIDTH, HEIGHT] = [640, 370];
const EDGE = { left: 48, right: 26, top: 14, bottom: 42 };
const FONT = { "font-size": 13, "font-family": "system-ui, sans-serif", fill: "var(--quiet)" };

export const percent = (share, digits = 0) => (share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`);

/** points: {n_answers, accuracy, low, high}; ahead: the same, from now on. */
export function drawAccuracy(place, { points, ahead, chance, goal }) {
  const most = Math.max(10, goal, ...[points.at(-1), ahead.at(-1)].filter(Boolean).map((p) => p.n_answers));
  const shown = thin(points, most / 50);
  const least = Math.max(0, Math.floor(10 * (Math.min(chance, ...shown.map((p) => p.accuracy)) - 0.05)) / 10);
  const x = (n) => EDGE.left + ((WIDTH - EDGE.left - EDGE.right) * n) / most;
  const y = (a) => EDGE.top + ((HEIGHT - EDGE.top - EDGE.bottom) * (1 - Math.max(a, least))) / (1 - least);
  const parts = [...axes(x, y, most, least)];
  parts.push(svg("line", { x1: x(0), x2: x(most), y1: y(chance), y2: y(chance), stroke: "var(--edge)", "stroke-dasharray": "2 4" }));
  parts.push(svg("text", { ...FONT, x: x(most) - 4, y: y(chance) - 6, "text-anchor": "end" }, "chance"));
  if (goal) parts.push(svg("line", { x1: x(goal), x2: x(goal), y1: y(1), y2: y(least), stroke: "var(--line)", "stroke-dasharray": "6 4" }));
  if (ahead.length) {
    parts.push(band(ahead, x, y, "var(--bar)"));
    parts.push(line(ahead, x, y, "var(--bar)", "6 5"));
  }
  if (shown.length) {
    parts.push(band(shown, x, y, "var(--accent)"));
    parts.push(line(shown, x, y, "var(--accent)"));
    const last = shown.at(-1);
    parts.push(svg("circle", { cx: x(last.n_answers), cy: y(last.accuracy), r: 4.5, fill: "var(--accent)" }));
  }
  const now = shown.at(-1);
  const label = now
    ? `Accuracy ${percent(now.accuracy)} after ${now.n_answers} answers, interval ${percent(now.low)} to ${percent(now.high)}.`
    : "No accuracy has been measured yet.";
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label }, parts);
  if (!shown.length) drawing.append(svg("text", { ...FONT, x: WIDTH / 2, y: HEIGHT / 2, "text-anchor": "middle" }, "The first fit with hold-out answers draws the curve."));
  else follow(drawing, [...shown, ...ahead.slice(1)], x, y);
  place.replaceChildren(drawing);
}

function axes(x, y, most, least) {
  const parts = [];
  for (let a = least; a < 1.001; a += least < 0.45 ? 0.2 : 0.1) {
    parts.push(svg("line", { x1: x(0), x2: x(most), y1: y(a), y2: y(a), stroke: "var(--line)" }));
    parts.push(svg("text", { ...FONT, x: x(0) - 8, y: y(a) + 4, "text-anchor": "end" }, percent(a)));
  }
  const step = roundStep(most / 5);
  for (let n = 0; n <= most; n += step) parts.push(svg("text", { ...FONT, x: x(n), y: y(least) + 19, "text-anchor": "middle" }, n.toLocaleString()));
  parts.push(svg("text", { ...FONT, x: (x(0) + x(most)) / 2, y: HEIGHT - 5, "text-anchor": "middle" }, "answers that trained the model"));
  return parts;
}

function band(points, x, y, colour) {
  const there = points.map((p) => `${x(p.n_answers).toFixed(1)},${y(p.high).toFixed(1)}`);
  const back = [...points].reverse().map((p) => `${x(p.n_answers).toFixed(1)},${y(p.low).toFixed(1)}`);
  return svg("polygon", { points: [...there, ...back].join(" "), fill: colour, opacity: 0.17 });
}

function line(points, x, y, stroke, dashes) {
  const places = points.map((p) => `${x(p.n_answers).toFixed(1)},${y(p.accuracy).toFixed(1)}`).join(" ");
  return svg("polyline", { points: places, fill: "none", stroke, "stroke-width": 2.5, "stroke-linejoin": "round", "stroke-dasharray": dashes });
}

/** A crosshair that tells the values under the pointer. */
function follow(drawing, points, x, y) {
  const rule = svg("line", { y1: y(1), y2: HEIGHT - EDGE.bottom, stroke: "var(--edge)", visibility: "hidden" });
  const text = svg("text", { ...FONT, fill: "var(--ink)", y: EDGE.top + 12, visibility: "hidden", "font-weight": 600 });
  drawing.append(rule, text);
  const hide = () => [rule, text].forEach((part) => part.setAttribute("visibility", "hidden"));
  drawing.addEventListener("pointerleave", hide);
  drawing.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * WIDTH;
    const near = points.reduce((best, p) => (Math.abs(x(p.n_answers) - at) < Math.abs(x(best.n_answers) - at) ? p : best));
    const place = x(near.n_answers);
    for (const key of ["x1", "x2"]) rule.setAttribute(key, place);
    text.textContent = `${near.n_answers.toLocaleString()}: ${percent(near.accuracy, 1)} (${percent(near.low)} to ${percent(near.high)})`;
    text.setAttribute("x", place + (place > WIDTH / 2 ? -8 : 8));
    text.setAttribute("text-anchor", place > WIDTH / 2 ? "end" : "start");
    [rule, text].forEach((part) => part.setAttribute("visibility", "visible"));
  });
}

/** Answers a minute over time, from the numbers of answers at the fits. */
export function sparkline(points) {
  if (points.length < 3) return null;
  const [first, last] = [points[0].at, Math.max(points.at(-1).at, Date.now() / 1000)];
  const n = Math.max(2, Math.min(40, Math.ceil((last - first) / 10)));
  const step = (last - first) / n;
  const rates = Array(n).fill(0);
  points.slice(1).forEach((point, i) => {
    rates[Math.min(n - 1, Math.floor((point.at - first) / step))] += ((point.n_answers - points[i].n_answers) / step) * 60;
  });
  const top = Math.max(...rates, 1);
  const places = rates.map((rate, i) => `${((i / (n - 1)) * 120).toFixed(1)},${(25 - (23 * Math.max(0, rate)) / top).toFixed(1)}`);
  return svg(
    "svg",
    { viewBox: "0 0 120 26", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("polygon", { points: `0,26 ${places.join(" ")} 120,26`, fill: "var(--accent)", opacity: 0.2 }),
    svg("polyline", { points: places.join(" "), fill: "none", stroke: "var(--accent)", "stroke-width": 1.5, "vector-effect": "non-scaling-stroke" }),
  );
}

/** A drawing as a file of its own: the page's colours are written into it. */
export function asFile(drawing) {
  const copy = drawing.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const style = getComputedStyle(document.documentElement);
  const source = new XMLSerializer().serializeToString(copy);
  return source.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
}

/** Points at least so many answers apart, the last one always: neighbours were measured on the same answers. */
function thin(points, apart) {
  const kept = [];
  for (const point of [...points].reverse()) if (!kept.length || kept.at(-1).n_answers - point.n_answers >= apart) kept.push(point);
  return kept.reverse();
}

function roundStep(rough) {
  const size = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  return [1, 2, 5, 10].map((m) => m * size).find((step) => step >= rough);
}
