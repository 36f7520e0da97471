// Tokens: made, listed and ended; and what their owners did.

import { $, h } from "../shared/dom.js";
import { call, copy, notice } from "./api.js";

const SHOWN_ACTS = 200;
const day = (at) => new Date(at * 1000).toLocaleString();
const table = (place, titles, rows) =>
  $(place).replaceChildren(
    h("thead", {}, h("tr", {}, titles.map((title) => h("th", { scope: "col" }, title)))),
    h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell) => h("td", {}, cell))))),
  );

async function show() {
  const [tokens, studies] = await Promise.all([call("GET", "/tokens"), call("GET", "/studies")]);
  table("#tokens", ["Person", "May", "In", "Made", "State"], tokens.map(row));
  const chosen = $("#of-study").value;
  $("#of-study").replaceChildren(h("option", { value: "" }, "all studies"), ...studies.map(({ name }) => h("option", { value: name }, name)));
  $("#of-study").value = chosen;
  const acts = await call("GET", "/acts");
  const last = acts.slice(-SHOWN_ACTS).reverse();
  table("#acts", ["When", "Who", "What", "Study"], last.map(({ at, who, what, study }) => [day(at), who, what, study ?? ""]));
}

function row({ id, person, role, study, made_at, revoked_at }) {
  const ended = revoked_at !== null;
  const end = h("button", { type: "button", class: "small", "aria-label": `End the token of ${person}`, onclick: () => revoke(id, person) }, "End it");
  return [person, role === "owner" ? "change things" : "look", study ?? "all studies", day(made_at), ended ? "ended" : end];
}

async function revoke(id, person) {
  if (!confirm(`End the token of ${person}? It cannot be taken back.`)) return;
  await attempt(() => call("DELETE", `/tokens/${encodeURIComponent(id)}`));
}

$("#new-token").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    const body = { person: $("#person").value.trim(), role: $("#role").value, study: $("#of-study").value || null };
    const made = await call("POST", "/tokens", body);
    $("#text").textContent = made.text;
    $("#made").hidden = false;
    $("#person").value = "";
  });
});
$("#copy").addEventListener("click", () => copy($("#text").textContent, $("#copy")));

async function attempt(act) {
  try {
    await act();
    await show();
  } catch (problem) {
    notice(problem.message);
  }
}

attempt(() => Promise.resolve());
