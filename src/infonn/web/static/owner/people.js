// The table of people: how each one answers, and a switch to leave somebody out.

import { $, h } from "../shared/dom.js";
import { call, notice, study } from "./api.js";
import { percent } from "./figures.js";

const seconds = (value) => (value === null ? "–" : `${value.toFixed(1)} s`);
const share = (value, of) => (of ? `${percent(value)} of ${of}` : "–");

// heading, hint, value to sort by, text, whether it looks poor
const COLUMNS = [
  ["Person", "", (p) => p.respondent, (p) => p.details.PROLIFIC_PID ?? p.details.workerId ?? p.details.participant ?? p.respondent],
  ["Answers", "", (p) => p.answered, (p) => p.answered.toLocaleString()],
  ["Skipped", "and “cannot tell”", (p) => p.skipped + p.cannot_tell, (p) => `${p.skipped + p.cannot_tell}`],
  ["Time", "median response time", (p) => p.median_response_time_s, (p) => seconds(p.median_response_time_s)],
  ["Too fast", "answers in less than 0.4 s", (p) => p.fast_share, (p) => percent(p.fast_share), (p) => p.fast_share > 0.2],
  ["Catch", "catch questions answered right", (p) => p.catch_right / (p.catch_asked || NaN), (p) => (p.catch_asked ? `${p.catch_right} of ${p.catch_asked}` : "–"), (p) => p.catch_asked > 1 && p.catch_right / p.catch_asked < 0.7],
  ["Agreement", "with the majority on repeated queries", (p) => p.agreement, (p) => share(p.agreement, p.agreement_of), (p) => p.agreement_of >= 8 && p.agreement < 0.4],
  ["Place bias", "how much one place on the screen is favoured", (p) => p.position_bias, (p) => percent(p.position_bias), (p) => p.answered >= 20 && p.position_bias > 0.25],
  ["Surprise", "of the model at the answers, in nats", (p) => p.log_loss, (p) => (p.log_loss === null ? "–" : p.log_loss.toFixed(2)), (p) => p.answered >= 20 && p.log_loss > 1.5],
  ["Last seen", "", (p) => p.seen_at, (p) => ago(p.seen_at)],
];

export class People {
  constructor(name) {
    Object.assign(this, { name, rows: [], by: 1, down: true });
  }

  async update() {
    this.rows = await call("GET", `${study(this.name)}/people`);
    this.draw();
  }

  draw() {
    const focused = document.activeElement?.dataset.person;
    const value = (person) => COLUMNS[this.by][2](person);
    const sign = this.down ? -1 : 1;
    const sorted = [...this.rows].sort((a, b) => {
      const [u, v] = [value(a), value(b)];
      if (u === v) return 0;
      if (u === null || Number.isNaN(u)) return 1;
      if (v === null || Number.isNaN(v)) return -1;
      return (u < v ? -1 : 1) * sign;
    });
    const head = COLUMNS.map(([title, hint], i) => {
      const sorting = i === this.by ? (this.down ? "descending" : "ascending") : null;
      const turn = () => ((this.down = i === this.by ? !this.down : i > 0), (this.by = i), this.draw());
      return h("th", { scope: "col", "aria-sort": sorting }, h("button", { type: "button", title: hint || null, onclick: turn }, title));
    });
    head.push(h("th", { scope: "col" }, "In the model"), h("th", { scope: "col" }, "Data"));
    const body = sorted.map((person) => this.row(person));
    if (!body.length) body.push(h("tr", {}, h("td", { colspan: COLUMNS.length + 2 }, "Nobody has answered yet.")));
    $("#people").replaceChildren(h("thead", {}, h("tr", {}, head)), h("tbody", {}, body));
    if (focused) $(`#people [data-person="${CSS.escape(focused)}"]`)?.focus();
  }

  row(person) {
    const cells = COLUMNS.map(([, , , text, poor]) => h("td", { class: poor?.(person) ? "poor" : null }, text(person)));
    const box = h("input", { type: "checkbox", "data-person": person.respondent, "aria-label": `${COLUMNS[0][3](person)} in the model` });
    box.checked = !person.excluded;
    box.addEventListener("change", () => this.exclude(person, !box.checked));
    const switched = h("td", {}, h("label", { class: "switch" }, box), person.excluded ? h("div", {}, this.reason(person)) : null);
    return h("tr", { class: person.excluded ? "excluded" : null }, cells, switched, h("td", {}, this.deleteButton(person)));
  }

  /** Why somebody is left out: for the owner, the export and the report. */
  reason(person) {
    const field = h("input", { class: "why", placeholder: "why?", maxlength: 500, "aria-label": `Why ${COLUMNS[0][3](person)} is left out`, value: person.excluded_why });
    field.addEventListener("change", async () => {
      await call("PUT", `${study(this.name)}/people/${encodeURIComponent(person.respondent)}`, { excluded: true, why: field.value }).catch((problem) => notice(problem.message));
      person.excluded_why = field.value;
    });
    return field;
  }

  deleteButton(person) {
    const who = COLUMNS[0][3](person);
    const onclick = async () => {
      if (!confirm(`Delete ${who} with all ${person.answered} answers, for good?`)) return;
      try {
        const { count } = await call("DELETE", `${study(this.name)}/people/${encodeURIComponent(person.respondent)}`);
        notice(`${who} and ${count} answers were deleted; the model is fitted again.`);
      } catch (problem) {
        notice(problem.message);
      }
      await this.update();
    };
    return h("button", { type: "button", class: "quiet small", "aria-label": `Delete ${who}`, onclick }, "Delete");
  }

  async exclude(person, excluded, undoing = false) {
    try {
      await call("PUT", `${study(this.name)}/people/${encodeURIComponent(person.respondent)}`, { excluded });
    } catch (problem) {
      notice(problem.message);
    }
    await this.update();
    if (undoing) return notice("As before.");
    const who = COLUMNS[0][3](person);
    notice(excluded ? `${who} was left out; the model is fitted again.` : `${who} is in again; the model is fitted again.`, () => this.exclude(person, !excluded, true), "Undo");
  }
}

export function ago(at) {
  if (!at) return "–";
  const past = Date.now() / 1000 - at;
  if (past < 5) return "now";
  if (past < 90) return `${Math.round(past)} s ago`;
  if (past < 5400) return `${Math.round(past / 60)} min ago`;
  if (past < 130_000) return `${Math.round(past / 3600)} h ago`;
  return new Date(at * 1000).toLocaleDateString();
}
