// What label questions have besides their classes: "none of these", and the nearest labelled items beside many classes.

import { h } from "../shared/dom.js";

export const NONE = "none"; // the response that stands for no class at all

/** The button that says no class fits; key 0, where that is no class. */
export function noneOfThese(texts, choose, taken) {
  const free = !taken.includes("0");
  const badge = free ? h("kbd", { class: "number", "aria-hidden": "true" }, "0") : null;
  const button = h("button", { type: "button", class: "choice none", onclick: (event) => choose(NONE, event) }, badge, h("span", { class: "caption" }, texts.none_of_these));
  button.dataset.response = NONE;
  if (free) button.dataset.key = "0";
  return button;
}

/** The labelled items nearest to the one in question, near to far, each a way to give its class. */
export function nearestExamples(question, texts, choose, show) {
  const near = question.candidates.flatMap(({ index }) => question.options.filter(({ item }) => item?.index === index));
  if (!near.length) return null;
  const cards = near.map(({ response, label, item }) =>
    h("button", { type: "button", class: "near", onclick: (event) => choose(response, event) }, show(item), h("span", { class: "caption" }, label)),
  );
  return h("div", { class: "nearest", role: "group", "aria-label": texts.nearest_examples }, h("span", { class: "hint" }, texts.nearest_examples), cards);
}
