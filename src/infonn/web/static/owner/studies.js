// All studies, and the way to restore one from a file.

import { $, h } from "../shared/dom.js";
import { call, notice, study } from "./api.js";

async function list() {
  const studies = await call("GET", "/studies");
  $("#none").hidden = studies.length > 0;
  const cards = await Promise.all(studies.reverse().map(async (one) => card(one, await call("GET", `${study(one.name)}/status`))));
  $("#studies").replaceChildren(...cards);
}

function card(one, status) {
  const length = h("span");
  length.style.width = `${Math.min(100, (100 * status.answers.train) / Math.max(1, status.goal))}%`;
  const people = status.people_at_work ? `${status.people_at_work} at work now` : `${status.people} people so far`;
  return h(
    "li",
    { class: "study-card" },
    h("h2", {}, h("a", { href: study(one.name) }, one.name), " ", (one.archived || one.paused) && h("span", { class: "tag" }, one.archived ? "ended" : "paused")),
    h("p", {}, `${one.n_items.toLocaleString()} items · ${one.spec.study?.task === "labels" ? "labels" : "similarity"} · ${people}`),
    h("p", {}, `${status.answers.train.toLocaleString()} of ${status.goal.toLocaleString()} answers`),
    h("div", { class: "meter", "aria-hidden": "true" }, length),
  );
}

$("#restore").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (!file) return;
  try {
    const made = await restore(file);
    location.assign(study(made.name));
  } catch (problem) {
    notice(problem.message);
  }
  event.target.value = "";
});

/** Under its own name, or a new one where that is taken. */
async function restore(file, name = null) {
  const form = new FormData();
  form.append("file", file);
  if (name) form.append("name", name);
  try {
    return await call("POST", "/studies/restore", form);
  } catch (problem) {
    if (problem.status !== 409 || name) throw problem;
    const now = new Date().toISOString().slice(0, 19).replace("T", " ").replaceAll(":", ".");
    const base = file.name.replace(/\.zip$/i, "").replace(/[^A-Za-z0-9 _.-]+/g, " ").trim() || "study";
    return restore(file, `${base} of ${now}`.slice(0, 80));
  }
}

list();
