// What the curves show: accuracy with its interval, forecast and chance; answers a minute.

import { faint, percent } from "./figures.js";

/** points: {n_answers, accuracy, low, high}; ahead: the same, from now on; compared: {n_answers, random, chosen}. */
export function accuracyFigure({ points, ahead, compared, chance, goal }) {
  const most = Math.max(10, goal, ...[points.at(-1), ahead.at(-1)].filter(Boolean).map((p) => p.n_answers));
  const shown = thin(points, most / 50);
  const sort = (name) => compared.map((p) => ({ n_answers: p.n_answers, ...p[name] }));
  const least = Math.max(0, Math.floor(10 * (Math.min(chance, ...shown.map((p) => p.accuracy)) - 0.05)) / 10);
  const step = least < 0.45 ? 0.2 : 0.1;
  const ticks = Array.from({ length: Math.round((1 - least) / step) + 1 }, (_, i) => 1 - i * step);
  return ({ accent, bar, edge, quiet, good, line }) => ({
    data: [
      ...curve(sort("chosen"), "as many chosen ones", good, "dot", false),
      ...curve(sort("random"), "random questions alone", edge, "dot", false),
      ...curve(ahead, "forecast, with a 90 % band", bar, "dash"),
      ...curve(shown, "measured, with its 95 % interval", accent, "solid"),
    ],
    layout: {
      hovermode: "x unified",
      showlegend: shown.length > 0,
      legend: { orientation: "h", x: 0, y: -0.17, yanchor: "top", traceorder: "reversed", font: { size: 13 } },
      xaxis: { ...axis(line), range: [0, most * 1.02], showgrid: false, title: { text: "answers that trained the model", standoff: 8, font: { size: 13 } } },
      yaxis: { ...axis(line), range: [least, 1.005], tickvals: ticks, ticktext: ticks.map((share) => percent(share)) },
      shapes: [rule({ x0: 0, x1: 1, xref: "paper", y0: chance, y1: chance }, edge), ...(goal ? [rule({ x0: goal, x1: goal, y0: 0, y1: 1, yref: "paper" }, edge)] : [])],
      annotations: [
        { text: "chance", x: 1, xref: "paper", xanchor: "right", y: chance, yanchor: "bottom", showarrow: false, font: { color: quiet } },
        ...(shown.length ? [] : [{ text: "The first fit with hold-out answers draws the curve.", x: 0.5, y: 0.5, xref: "paper", yref: "paper", showarrow: false }]),
      ],
    },
  });
}

/** A line and, behind it, the band between `low` and `high`. */
function curve(points, name, colour, dash, banded = true) {
  if (!points.length) return [];
  const x = points.map((p) => p.n_answers);
  const band = {
    x: [...x, ...[...x].reverse()],
    y: [...points.map((p) => p.high), ...points.map((p) => p.low).reverse()],
    fill: "toself", fillcolor: faint(colour, 0.17), line: { width: 0 }, mode: "lines", hoverinfo: "skip", showlegend: false, legendgroup: name,
  };
  const line = {
    x, y: points.map((p) => p.accuracy), name, legendgroup: name, mode: dash === "dash" ? "lines" : "lines+markers",
    line: { color: colour, width: 2.5, dash }, marker: { color: colour, opacity: 1, size: points.map((_, i) => (i === points.length - 1 ? 9 : 0)) },
    customdata: points.map((p) => `${percent(p.accuracy, 1)} (${percent(p.low)} to ${percent(p.high)})`),
    hovertemplate: "%{customdata}<extra></extra>",
  };
  return banded ? [band, line] : [line];
}

const axis = (line) => ({ gridcolor: line, linecolor: line, zeroline: false, fixedrange: true, automargin: true });
const rule = (place, color) => ({ type: "line", layer: "below", line: { color, width: 1, dash: "dot" }, ...place });

/** Answers a minute over time: `bars` are {at, rate, step}. */
export function paceFigure(bars) {
  return ({ accent, line }) => ({
    data: [{ type: "bar", x: bars.map(({ at }) => new Date(at * 1000)), y: bars.map(({ rate }) => rate), width: bars.map(({ step }) => 930 * step), marker: { color: accent }, hovertemplate: "%{y:.0f} a minute<extra>%{x|%H:%M:%S}</extra>" }],
    layout: {
      margin: { l: 36, r: 8, t: 6, b: 24 },
      xaxis: { ...axis(line), type: "date", nticks: 5, showgrid: false, tickformat: clockOf(bars) },
      yaxis: { ...axis(line), rangemode: "tozero", nticks: 4 },
    },
  });
}

/** How finely the time of day, or the day, has to be told. */
function clockOf(bars) {
  const minutes = (bars.at(-1).at - bars[0].at) / 60;
  return minutes < 5 ? "%H:%M:%S" : minutes < 1500 ? "%H:%M" : "%b %e";
}

/** {at, rate, step}: answers a minute in up to 40 pieces of the time from the first fit to the last, each `step` seconds long. */
export function paces(points) {
  if (points.length < 3) return [];
  const [first, last] = [points[0].at, points.at(-1).at];
  const n = Math.max(2, Math.min(40, Math.ceil((last - first) / 10)));
  const step = (last - first) / n;
  if (!(step > 0)) return [];
  const edges = Array.from({ length: n + 1 }, (_, i) => answersAt(points, first + i * step));
  return edges.slice(1).map((count, i) => ({ at: first + (i + 0.5) * step, rate: (Math.max(0, count - edges[i]) / step) * 60, step }));
}

/** How many answers there were at a time, as if they came evenly between two fits. */
function answersAt(points, time) {
  const after = points.findIndex(({ at }) => at >= time);
  if (after <= 0) return points.at(after === 0 ? 0 : -1).n_answers;
  const [before, next] = [points[after - 1], points[after]];
  return before.n_answers + ((time - before.at) / (next.at - before.at)) * (next.n_answers - before.n_answers);
}

/** Points at least so many answers apart, the last one always: neighbours were measured on the same answers. */
function thin(points, apart) {
  const kept = [];
  for (const point of [...points].reverse()) if (!kept.length || kept.at(-1).n_answers - point.n_answers >= apart) kept.push(point);
  return kept.reverse();
}
