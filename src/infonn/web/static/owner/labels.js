// The dashboard's part on labels: the way to the gallery, and who labels how.

import { $, h } from "../shared/dom.js";
import { call, study } from "./api.js";
import { percent } from "./figures.js";

export const LABEL_EXPORTS = [
  ["Labels (CSV)", "labels/export?format=labels"],
  ["Predictions (CSV)", "labels/export?format=predictions"],
  ["Predictions (Parquet)", "labels/export?format=predictions_parquet"],
  ["Model (skops)", "labels/export?format=model"],
  ["Pictures by class (ZIP)", "labels/export?format=folders"],
];

const RULES = { majority: "the majority", dawid_skene: "Dawid and Skene’s model" };

export async function showLabels(name) {
  $("#labels-panel").hidden = false;
  const found = await call("GET", `${study(name)}/labels/annotators`);
  const agreed = found.shared - found.disagreeing;
  $("#agreement").textContent = found.shared
    ? `${found.shared.toLocaleString()} items were labelled by several people, who agree on ${agreed.toLocaleString()}; where they do not, ${RULES[found.rule]} decides.`
    : "No item was labelled by several people. “People per question” above 1 tells how far they agree.";
  $("#confusions").replaceChildren(...found.people.filter((person) => person.shared).map((person) => confusion(person, found.classes)));
}

/** How often a person calls an item of a class (row) each class (column). */
function confusion(person, classes) {
  const summary = h("summary", {}, `${person.respondent}: agrees on ${person.agreeing} of ${person.shared} shared items (${percent(person.agreeing / person.shared)}), ${person.labels} labels`);
  if (!person.confusion) return h("details", {}, summary);
  const head = h("tr", {}, h("th", { scope: "col" }, "really, called"), classes.map((label) => h("th", { scope: "col" }, label)));
  const rows = person.confusion.map((row, i) => h("tr", {}, h("th", { scope: "row" }, classes[i]), row.map((share) => h("td", {}, percent(share)))));
  return h("details", {}, summary, h("table", { class: "confusion" }, h("thead", {}, head), h("tbody", {}, rows)));
}
