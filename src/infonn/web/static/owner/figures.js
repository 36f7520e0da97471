// Figures by plotly.js, in the page's own colours and as wide as their place.

import { h, pageData } from "../shared/dom.js";

const CONFIG = { displayModeBar: false, doubleClick: false, showTips: false };
const SAVED = { width: 1000, height: 700 };

/** The script is large: it comes beside everything else, and the browser keeps it. */
const plotly = new Promise((resolve, reject) => {
  const failed = () => reject(new TypeError("plotly.js could not be loaded."));
  document.head.append(h("script", { src: pageData().plotly, onload: () => resolve(window.Plotly), onerror: failed }));
});

export const percent = (share, digits = 0) => (share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`);

export class Figure {
  constructor(place) {
    this.place = place;
    this.describe = null;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(place);
  }

  /** `describe(colours, size)` gives {data, layout}; it is asked again when colours or sizes change. */
  update(describe) {
    this.describe = describe;
    return this.draw();
  }

  /** At most once a frame, however many ask for it. */
  draw() {
    this.drawing ??= new Promise((turn) => requestAnimationFrame(turn)).then(() => {
      this.drawing = null;
      return this.drawNow();
    });
    return this.drawing;
  }

  async drawNow() {
    if (!this.describe) return;
    const Plotly = await plotly;
    const { data, layout } = this.dressed(this.size);
    await Plotly.react(this.place, data, layout, CONFIG);
  }

  get size() {
    return { width: this.place.clientWidth, height: this.place.clientHeight };
  }

  dressed(size) {
    const colours = pageColours();
    const { data, layout } = this.describe(colours, size);
    return { data, layout: { ...common(colours), ...size, ...layout } };
  }

  /** As a file, whatever the size of the screen. */
  async save(format, name) {
    if (!this.describe) return;
    const Plotly = await plotly;
    const { data, layout } = this.dressed(SAVED);
    const background = pageColours().paper;
    const figure = { data, layout: { ...layout, paper_bgcolor: background, plot_bgcolor: background } };
    await Plotly.downloadImage(figure, { format, filename: name, scale: format === "png" ? 2 : 1, ...SAVED });
  }
}

function common({ ink, quiet, line, paper }) {
  return {
    font: { family: "system-ui, sans-serif", size: 13, color: quiet },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 48, r: 18, t: 8, b: 40 },
    hoverlabel: { bgcolor: paper, bordercolor: line, font: { color: ink } },
    dragmode: false, // a finger on a figure scrolls the page
    uirevision: "kept", // what the person zoomed or switched off stays so
  };
}

function pageColours() {
  const style = getComputedStyle(document.documentElement);
  const named = (name) => style.getPropertyValue(`--${name}`).trim();
  return Object.fromEntries(["ink", "quiet", "line", "edge", "paper", "ground", "accent", "bar", "good"].map((name) => [name, named(name)]));
}

/** "#1b1e23" and 0.2 -> "rgba(27,30,35,0.2)". */
export function faint(colour, opacity) {
  const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return `rgba(${parts.join(",")},${opacity})`;
}
