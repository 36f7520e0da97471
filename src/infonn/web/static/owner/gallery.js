// Predictions of a label study, the most doubtful first; choosing one says what it really is.

import { $, h, pageData } from "../shared/dom.js";
import { call, notice, study } from "./api.js";
import { percent } from "./figures.js";

const PAGE = 60;
const { name } = pageData();
const base = `${study(name)}/labels`;
let classes = [];
let listed = 0;
let asked = 0; // the last list that was asked for: an earlier one that comes late is not shown

async function list(more = false) {
  const turn = (asked += 1);
  if (!more) listed = 0;
  const query = new URLSearchParams({ shown: $("#shown").value, offset: listed, limit: PAGE });
  if ($("#of-class").value) query.set("label", $("#of-class").value);
  const found = await call("GET", `${base}/predictions?${query}`);
  if (turn !== asked) return;
  if (!classes.length) $("#of-class").append(...found.classes.map((label) => h("option", { value: label }, label)));
  classes = found.classes;
  const cards = found.items.map(card);
  if (more) $("#gallery").append(...cards);
  else $("#gallery").replaceChildren(...cards);
  listed += found.items.length;
  $("#count").textContent = `${found.total.toLocaleString()} items, ${found.n_labels.toLocaleString()} labelled${found.up_to_date ? "" : "; the model does not know the last labels yet"}`;
  $("#more").hidden = listed >= found.total;
}

function card(item) {
  const doubted = item.label !== null && item.label !== item.prediction;
  const said = item.label === null ? null : h("span", { class: "named" }, `labelled ${item.label}`);
  const none = item.none ? h("span", { class: "named" }, `none of these: ${item.none}`) : null;
  const button = h(
    "button",
    { type: "button", class: doubted ? "doubted" : "", onclick: () => ask(item, button) },
    picture(item),
    h("strong", {}, item.prediction),
    h("span", { class: "named" }, `${percent(item.confidence)} sure`),
    said,
    none,
  );
  button.setAttribute("aria-label", `${item.name}: ${item.prediction}, ${percent(item.confidence)} sure${item.label === null ? "" : `, labelled ${item.label}`}`);
  return h("li", {}, button);
}

const picture = (item) => (item.image ? h("img", { src: item.image, alt: "", loading: "lazy" }) : h("span", { class: "named" }, item.text ?? item.name));

/** A dialog with all classes; typing narrows them, Enter takes the first. */
function ask(item, opener) {
  $("#correct-heading").textContent = `What is ${item.name}?`;
  $("#correct-item").replaceChildren(picture(item));
  const buttons = classes.map((label) => h("button", { type: "button", onclick: () => correct(item, label) }, label));
  $("#correct-classes").replaceChildren(...buttons);
  const find = $("#find-class");
  find.value = "";
  const visible = () => buttons.filter((button) => !button.hidden);
  find.oninput = () => {
    const wanted = find.value.trim().toLowerCase();
    for (const button of buttons) button.hidden = !button.textContent.toLowerCase().includes(wanted);
  };
  find.onkeydown = (event) => {
    if (event.key !== "Enter" || !find.value.trim()) return;
    event.preventDefault();
    visible()[0]?.click();
  };
  $("#correct").onclose = () => opener.focus();
  $("#correct").showModal();
  find.focus();
}

async function correct(item, label) {
  try {
    const done = await call("POST", `${base}/corrections`, { item: item.index, label });
    $("#correct").close();
    notice(`${done.item} is ${done.label} now${done.before && done.before !== done.label ? `, and no longer ${done.before}` : ""}.`);
    const place = [...$("#gallery").children].find((entry) => entry.firstChild.getAttribute("aria-label").startsWith(`${item.name}: `));
    place?.replaceWith(card({ ...item, label }));
  } catch (problem) {
    notice(problem.message);
  }
}

const show = (more) => list(more).catch((problem) => ($("#count").textContent = problem.message));
$("#filter").addEventListener("change", () => show(false));
$("#filter").addEventListener("submit", (event) => event.preventDefault());
$("#more").addEventListener("click", () => show(true));
$("#correct-cancel").addEventListener("click", () => $("#correct").close());
show(false);
