// What an owner does with a study beside watching it: settings, copy, pause.

import { $, h } from "../shared/dom.js";
import { call, notice, study } from "./api.js";

/** Shows where the study stands and lets its buttons work; `again` looks anew after a change. */
export function steer(one, again) {
  const base = study(one.name);
  $("#go-edit").href = `${base}/edit`;
  $("#link-warning").hidden = !one.link_warning;
  $("#link-warning").textContent = one.link_warning ?? "";
  $("#condition-links").replaceChildren(...Object.entries(one.condition_links).map(([name, link]) => h("li", {}, `${name}: `, h("code", {}, link))));
  $("#is-paused").hidden = !one.paused || one.archived;
  $("#pause-study").hidden = one.archived;
  $("#pause-study").textContent = one.paused ? "Go on" : "Pause";
  $("#pause-study").onclick = async () => {
    await call("PATCH", base, { paused: !one.paused });
    notice(one.paused ? "The study goes on." : "The study pauses: nobody is asked until it goes on.");
    again();
  };
  $("#copy-study").onclick = () => {
    $("#copy-name").value = `${one.name} copy`.slice(0, 80);
    $("#copy-problem").textContent = "";
    $("#copying").showModal();
  };
  $("#copy-cancel").onclick = () => $("#copying").close();
  $("#copy-form").onsubmit = async (event) => {
    event.preventDefault();
    try {
      const made = await call("POST", `${base}/copy`, { name: $("#copy-name").value.trim() });
      location.assign(study(made.name));
    } catch (problem) {
      $("#copy-problem").textContent = problem.message;
    }
  };
}
