// The form of a study's settings, there and back to the tables of study.toml.

import { $ } from "../shared/dom.js";
import { Rows, names } from "./rows.js";

// id of the field -> [table, key, kind]
const FIELDS = {
  answers: ["budget", "answers", "number"],
  title: ["people", "title", "text"],
  question: ["people", "question", "text"],
  instructions: ["people", "instructions", "prose"],
  consent: ["people", "consent", "prose"],
  thanks: ["people", "thanks", "prose"],
  language: ["people", "language", "text"],
  "per-person": ["people", "per_person", "number"],
  overlap: ["people", "overlap", "number"],
  "hold-out": ["people", "hold_out", "percent"],
  "at-random": ["people", "at_random", "percent"],
  "most-people": ["people", "most_people", "number"],
  ends: ["people", "ends", "text"],
  "catch-every": ["people", "catch_every", "number"],
  "most-wrong": ["people", "most_wrong", "number"],
  "self-repeats": ["people", "self_repeats", "percent"],
  "repeat-gap": ["people", "repeat_gap", "number"],
  "min-time": ["people", "min_time_s", "number"],
  block: ["people", "block", "number"],
  "pause-s": ["people", "pause_s", "number"],
  "pause-text": ["people", "pause_text", "prose"],
  withdraw: ["people", "withdraw", "check"],
  code: ["people", "completion_code", "text"],
  url: ["people", "completion_url", "text"],
  "screen-out-code": ["people", "screen_out_code", "text"],
  "screen-out-url": ["people", "screen_out_url", "text"],
  "over-quota-code": ["people", "over_quota_code", "text"],
  "over-quota-url": ["people", "over_quota_url", "text"],
  "embed-origins": ["people", "embed_origins", "list"],
};

const ASKED = [
  { key: "reference", label: "Reference", kind: "text" },
  { key: "candidates", label: "Candidates", kind: "list", wide: true },
  { key: "expected", label: "Right answer", kind: "text" },
];
const ABOUT = [
  { key: "name", label: "Name", kind: "text" },
  { key: "label", label: "Question", kind: "text", wide: true },
  { key: "kind", label: "Answer", options: [["choice", "one of"], ["choices", "some of"], ["text", "a line"], ["long_text", "a text"], ["number", "a number"]] },
  { key: "options", label: "Options", kind: "list", wide: true },
  { key: "screen_out", label: "Ends it", kind: "list" },
  { key: "required", label: "Required", kind: "check", fallback: true },
];
const CONDITION = [
  { key: "name", label: "Name", kind: "text" },
  { key: "question", label: "The question", kind: "text", wide: true },
  { key: "instructions", label: "Instructions", kind: "long" },
  { key: "items", label: "Items", kind: "list", wide: true },
  { key: "order", label: "References", options: [["chosen", "chosen by the model"], ["listed", "as the items are listed"], ["reversed", "the other way round"]] },
];

const rows = {
  practice: new Rows($("#practice"), ASKED, "a practice question"),
  catch: new Rows($("#catch"), [...ASKED, { key: "position", label: "Position", kind: "number" }], "a catch question"),
  before: new Rows($("#before"), ABOUT, "a question"),
  after: new Rows($("#after"), ABOUT.filter(({ key }) => key !== "screen_out"), "a question"),
  conditions: new Rows($("#conditions"), CONDITION, "a condition"),
};

/** {people, budget}, as the form says. */
export function readSettings() {
  const tables = { people: {}, budget: {} };
  for (const [id, [table, key, kind]] of Object.entries(FIELDS)) tables[table][key] = fromField($(`#${id}`), kind);
  for (const [key, list] of Object.entries(rows)) tables.people[key] = list.value;
  return tables;
}

/** Fills the form; keys that the tables do not have keep what the form began with. */
export function writeSettings(tables) {
  for (const [id, [table, key, kind]] of Object.entries(FIELDS)) {
    const value = tables[table]?.[key];
    if (value !== undefined) toField($(`#${id}`), kind, value);
  }
  for (const [key, list] of Object.entries(rows)) list.value = tables.people?.[key] ?? [];
  for (const group of document.querySelectorAll("details.group")) {
    const used = [...group.querySelectorAll(".rows")].some((place) => place.querySelector("li"));
    group.open = used || [...group.querySelectorAll("input, textarea")].some((field) => field.type !== "checkbox" && field.value !== field.defaultValue);
  }
}

/** What is wrong with the fields themselves, in words. */
export function faultsOf(form) {
  const faults = [];
  for (const field of form.querySelectorAll("input, select, textarea")) {
    if (!field.id || field.checkValidity()) continue;
    const label = $(`label[for=${field.id}]`)?.firstChild.textContent.trim() ?? field.id;
    const name = field.id === "name" && field.value;
    faults.push(name ? "The name may have letters, digits, spaces, “-”, “_” and “.”, and begins with a letter or digit." : `${label}: ${field.validationMessage}`);
    field.closest("details")?.setAttribute("open", "");
  }
  return faults;
}

function fromField(field, kind) {
  if (kind === "check") return field.checked;
  if (kind === "prose") return field.value;
  const text = field.value.trim();
  if (kind === "list") return names(text);
  return kind === "number" ? Number(text) : kind === "percent" ? Math.round(Number(text) * 1e4) / 1e6 : text;
}

function toField(field, kind, value) {
  if (kind === "check") field.checked = value;
  else if (kind === "list") field.value = value.join(", ");
  else field.value = kind === "percent" ? Math.round(value * 1e6) / 1e4 : value;
}
