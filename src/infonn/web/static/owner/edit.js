// An existing study's settings: what people see, how much they are asked, and when it ends.

import { $, h, pageData } from "../shared/dom.js";
import { call, study } from "./api.js";
import { faultsOf, readSettings, writeSettings } from "./settings.js";

const base = study(pageData().name);
const sentences = (all) => $("#refusals").replaceChildren(...all.map((text) => h("li", {}, text)));
let timed = ""; // a last moment that is no whole day stays as it was, unless another day is chosen

async function load() {
  const { spec } = await call("GET", base);
  const ends = spec.people?.ends ?? "";
  timed = ends.length > 10 ? ends : "";
  writeSettings({ ...spec, people: { ...spec.people, ends: ends.slice(0, 10) } });
  document.documentElement.dataset.ready = "yes";
}

$("#edit").addEventListener("submit", async (event) => {
  event.preventDefault();
  const faults = faultsOf($("#edit"));
  sentences(faults);
  if (faults.length) return;
  const { people, budget } = readSettings();
  if (timed.startsWith(people.ends) && people.ends) people.ends = timed;
  $("#save").disabled = true;
  try {
    await call("PATCH", base, { people, budget });
    location.assign(base);
  } catch (problem) {
    sentences([problem.message]);
  }
  $("#save").disabled = false;
});

load().catch((problem) => sentences([problem.message]));
