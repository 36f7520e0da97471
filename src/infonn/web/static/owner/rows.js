// Lists of small tables in a form: a row for each, with a button to add one and one to take it away.

import { h } from "../shared/dom.js";

/** `columns`: {key, label, kind: "text" | "long" | "list" | "number" | "check" | one of `options`, wide}. */
export class Rows {
  constructor(place, columns, what) {
    Object.assign(this, { place, columns, what, rows: [] });
    this.list = h("ol", { class: "row-list" });
    place.append(this.list, h("button", { type: "button", class: "small", onclick: () => this.add({}, true) }, `Add ${what}`));
  }

  set value(all) {
    this.rows = [];
    this.list.replaceChildren();
    for (const one of all) this.add(one);
  }

  /** What was filled in; keys left empty are left out, and rows without any as well. */
  get value() {
    const read = ({ inputs }) => this.columns.flatMap(({ key, kind }, i) => {
      const found = valueOf(inputs[i], kind);
      return found === null ? [] : [[key, found]];
    });
    const isFilled = ({ inputs }) => this.columns.some(({ kind, options }, i) => kind !== "check" && !options && inputs[i].value.trim());
    return this.rows.filter(isFilled).map((row) => Object.fromEntries(read(row)));
  }

  add(one, focus = false) {
    const inputs = this.columns.map((column) => inputOf(column, one[column.key]));
    const number = this.rows.length + 1;
    const fields = this.columns.map((column, i) => h("label", { class: `cell${column.kind === "long" || column.wide ? " wide" : ""}${column.kind === "check" ? " tick" : ""}` }, h("span", {}, column.label), inputs[i]));
    const row = { inputs };
    const remove = h("button", { type: "button", class: "quiet small", "aria-label": `Remove ${this.what} ${number}`, onclick: () => this.remove(row) }, "Remove");
    row.node = h("li", {}, h("div", { class: "cells" }, fields), remove);
    this.rows.push(row);
    this.list.append(row.node);
    if (focus) inputs[0].focus();
  }

  remove(row) {
    this.rows = this.rows.filter((other) => other !== row);
    row.node.remove();
  }
}

function inputOf({ kind, options, fallback }, given) {
  if (options) {
    const select = h("select", {}, options.map(([value, label]) => h("option", { value }, label)));
    select.value = given ?? options[0][0];
    return select;
  }
  if (kind === "check") {
    const box = h("input", { type: "checkbox" });
    box.checked = given ?? fallback ?? false;
    return box;
  }
  const input = kind === "long" ? h("textarea", { rows: 2 }) : h("input", { type: kind === "number" ? "number" : "text", step: "any" });
  input.value = (kind === "list" ? (given ?? []).join(", ") : given) ?? "";
  return input;
}

function valueOf(input, kind) {
  if (kind === "check") return input.checked;
  const text = input.value.trim();
  if (kind === "list") return text ? names(text) : null;
  if (kind === "number") return text === "" ? null : Number(text);
  return text || null;
}

export const names = (text) => text.split(",").map((name) => name.trim()).filter(Boolean);
