// Questions about the person: fields as a study describes them.

import { fill, h } from "../shared/dom.js";

/** Fills `form` with the fields; `send(values)` is given what was said, once nothing required is missing. */
export function showForm(form, fields, texts, send) {
  const problem = h("p", { class: "problem", role: "alert" });
  const button = h("button", { class: "main" }, texts.form_send);
  const rows = fields.map((field) => row(field, texts));
  form.replaceChildren(...rows.map(({ node }) => node), problem, h("p", {}, button));
  form.oninput = () => (problem.textContent = "");
  form.onsubmit = async (event) => {
    event.preventDefault();
    const missing = rows.filter(({ field, read, valid }) => !valid() || (field.required && isEmpty(read())));
    for (const { mark } of rows) mark(false);
    for (const { mark } of missing) mark(true);
    problem.textContent = missing.length ? fill(texts.form_missing, { fields: missing.map(({ field }) => field.label).join("; ") }) : "";
    if (missing.length) return missing[0].focus();
    button.disabled = true;
    try {
      await send(Object.fromEntries(rows.map(({ field, read }) => [field.name, read()])));
    } catch (trouble) {
      if (trouble.temporary === undefined) throw trouble;
      problem.textContent = trouble.temporary ? texts.trouble_unreachable : trouble.message;
    }
    button.disabled = false;
  };
}

const isEmpty = (value) => value === null || value === "" || (Array.isArray(value) && !value.length);

function row(field, texts) {
  const several = field.kind === "choices" || (field.kind === "choice" && field.options.length <= 6);
  return several ? boxes(field, texts) : single(field, texts);
}

function words(field, texts) {
  return [field.label, !field.required && h("span", { class: "hint" }, ` (${texts.form_optional})`)];
}

/** One box to type in, or a list to choose from. */
function single(field, texts) {
  const id = `about-${field.name}`;
  const shared = { id, name: field.name, required: field.required };
  let input;
  if (field.kind === "choice") {
    const none = h("option", { value: "" }, texts.form_choose);
    input = h("select", shared, none, field.options.map((option) => h("option", { value: option }, option)));
  } else if (field.kind === "long_text") input = h("textarea", { ...shared, rows: 4, maxlength: 5000, dir: "auto" });
  else if (field.kind === "number") input = h("input", { ...shared, type: "number", inputmode: "decimal", step: "any", min: field.least, max: field.most });
  else input = h("input", { ...shared, type: "text", maxlength: 500, dir: "auto", autocomplete: "off" });
  const read = () => (field.kind === "number" ? (input.value === "" ? null : input.valueAsNumber) : input.value.trim() || null);
  return {
    field,
    read,
    valid: () => input.checkValidity() || input.value === "",
    node: h("p", { class: "field" }, h("label", { for: id }, words(field, texts)), input),
    mark: (bad) => input.setAttribute("aria-invalid", bad),
    focus: () => input.focus(),
  };
}

/** A few options, all in sight. */
function boxes(field, texts) {
  const one = field.kind === "choice";
  const inputs = field.options.map((option) => h("input", { type: one ? "radio" : "checkbox", name: field.name, value: option }));
  const labels = inputs.map((input) => h("label", { class: "check" }, input, h("span", {}, input.value)));
  const chosen = () => inputs.filter((input) => input.checked).map((input) => input.value);
  const node = h("fieldset", { class: "field boxes" }, h("legend", {}, words(field, texts)), labels);
  return {
    field,
    node,
    read: () => (one ? (chosen()[0] ?? null) : chosen()),
    valid: () => true,
    mark: (bad) => node.classList.toggle("bad", bad),
    focus: () => inputs[0].focus(),
  };
}
