// A new study from files.

import { $, h } from "../shared/dom.js";
import { call, copy, study } from "./api.js";
import { dropped, look } from "./files.js";
import { faultsOf, readSettings } from "./settings.js";

const SHOWN = 12;
let chosen = null;
let looking = Promise.resolve(); // until the files chosen last were looked at

const sentences = (place, all) => $(place).replaceChildren(...all.map((text) => h("li", {}, text)));
const value = (id) => $(`#${id}`).value.trim();
const number = (id) => Number(value(id));
const asked = () => $("input[name=task]:checked").value; // similarity, odd_one_out, labels

function take(list) {
  sentences("#refusals", []); // they were about other files
  looking = looking.catch(() => {}).then(() => describe(list));
}

async function describe(list) {
  chosen = await look(list);
  sentences("#problems", chosen.problems);
  $("#found").hidden = !chosen.files.length;
  const n = chosen.items.length;
  $("#found-text").textContent = chosen.kind === "zip" ? `${chosen.files[0].name}, to be opened by the server.` : `${n.toLocaleString()} items, such as:`;
  $("#found-items").replaceChildren(...chosen.items.slice(0, SHOWN).map(thumb));
  if (!value("name")) $("#name").value = suggestion();
}

function thumb({ name, file }) {
  return h("li", { title: name }, file ? h("img", { src: URL.createObjectURL(file), alt: name }) : name);
}

/** By the folder, or by the one CSV or ZIP; one picture of many says nothing about them all. */
function suggestion() {
  const [file] = chosen.files;
  const folder = file?.webkitRelativePath?.split("/")[0];
  const alone = chosen.files.find(({ name }) => /\.(csv|zip)$/i.test(name));
  return (folder || alone?.name || "").replace(/\.\w+$/, "").replace(/[^A-Za-z0-9 _.-]+/g, " ").trim().slice(0, 80);
}

function settings() {
  const labels = asked() === "labels";
  const queries = asked() === "odd_one_out" ? { kind: "odd_one_out" } : { candidates: number("candidates") };
  if (labels) queries.classes = value("classes").split(/[\n,]+/).map((name) => name.trim()).filter(Boolean);
  else queries.kind ??= value("kind");
  const learner = value("dims") && !labels ? { learner: { dims: number("dims") } } : {};
  return { study: { name: value("name"), task: labels ? "labels" : "similarity" }, queries, ...learner, ...readSettings() };
}

/** What the form lacks, in words. */
function lacks() {
  const missing = [];
  if (!chosen?.files.length) missing.push("Choose the files first: images, a ZIP or a CSV.");
  if (chosen?.problems.length) missing.push("Some files have problems; they are listed above.");
  missing.push(...faultsOf($("#new")));
  if (asked() === "labels" && settings().queries.classes.length < 2) missing.push("Name at least two classes.");
  return missing;
}

async function create(event) {
  event.preventDefault();
  await looking;
  const missing = lacks();
  sentences("#refusals", missing);
  if (missing.length) return;
  const form = new FormData();
  form.append("settings", JSON.stringify(settings()));
  for (const file of chosen.files) form.append("files", file, file.name);
  for (const file of $("#media").files) form.append("media", file, file.name);
  if ($("#features").files[0]) form.append("features", $("#features").files[0]);
  $("#create").disabled = true;
  $("#busy").textContent = "Reading the files …";
  try {
    show(await call("POST", "/studies/upload", form));
  } catch (problem) {
    sentences("#refusals", [problem.message]);
  }
  $("#create").disabled = false;
  $("#busy").textContent = "";
}

function show(made) {
  $("#new").hidden = true;
  $("#done").hidden = false;
  $("#link").textContent = made.link;
  $("#link-warning").hidden = !made.link_warning;
  $("#link-warning").textContent = made.link_warning ?? "";
  $("#condition-links").replaceChildren(...Object.entries(made.condition_links).map(([name, link]) => h("li", {}, `${name}: `, h("code", {}, link))));
  $("#go-preview").href = `${study(made.name)}/preview`;
  $("#go-answer").href = `/s/${made.key}?participant=owner`;
  $("#go-study").href = study(made.name);
  $("#done-heading").focus();
}

for (const id of ["files", "folder"]) $(`#${id}`).addEventListener("change", (event) => take(event.target.files));
const drop = $("#drop");
for (const name of ["dragenter", "dragover"]) drop.addEventListener(name, (event) => (event.preventDefault(), drop.classList.add("over")));
for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("over"));
drop.addEventListener("drop", async (event) => {
  event.preventDefault();
  take(await dropped(event.dataTransfer));
});
for (const radio of document.querySelectorAll("input[name=task]")) {
  radio.addEventListener("change", () => {
    $("#classes-field").hidden = asked() !== "labels";
    const hides = { kind: asked() !== "similarity", dims: asked() === "labels", candidates: asked() === "odd_one_out" };
    for (const [id, hidden] of Object.entries(hides)) $(`#${id}`).closest(".field").hidden = hidden;
  });
}
$("#new").addEventListener("submit", create);
$("#copy").addEventListener("click", (event) => copy($("#link").textContent, event.target));
