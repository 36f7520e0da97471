// How far a study can be trusted: each measure with its interval, and the sentence that explains it.

import { $, h } from "../shared/dom.js";
import { call } from "./api.js";
import { percent } from "./figures.js";

const IN_UNITS = new Set(["alpha", "split_half"]); // from 0 to 1; the others are shares of answers

export async function drawTrust(base) {
  const found = await call("GET", `${base}/reliability`);
  const rows = Object.entries(found).map(([name, finding]) => {
    const known = finding.value !== null;
    return h("div", { class: known ? null : "unknown" }, h("dt", {}, finding.title), h("dd", { class: "value" }, known ? told(name, finding) : "–"), h("dd", { class: "note" }, finding.sentence.replaceAll(" %", "\u00a0%")));
  });
  $("#trust").replaceChildren(...rows);
}

function told(name, { value, upto }) {
  const said = (number) => (IN_UNITS.has(name) ? number.toFixed(2) : percent(number));
  return upto !== null && said(upto) !== said(value) ? `${said(value).replace(" %", "")} – ${said(upto)}` : said(value);
}
