// The token may come in the link, behind the #: it is never part of a request line, so no log has it.

import { $ } from "../shared/dom.js";
import { call } from "./api.js";

const target = onThisSite(new URLSearchParams(location.search).get("next") ?? "");

/** An address of this site: browsers read "//host", "/\\host", "/<tab>/host" and the path of "/..//host" as another. */
function onThisSite(path) {
  try {
    const url = new URL(path, location.origin);
    if (path.startsWith("/") && url.origin === location.origin) return url.href;
  } catch {
    // no address at all
  }
  return "/studies";
}

async function logIn(token) {
  $("#problem").textContent = "";
  try {
    await call("POST", "/login", { token });
    location.replace(target);
  } catch (problem) {
    $("#problem").textContent = problem.status === 401 ? "This is not the owner token." : problem.message;
  }
}

$("#login").addEventListener("submit", (event) => {
  event.preventDefault();
  logIn($("#token").value.trim());
});
function logInFromLink() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!given) return;
  history.replaceState(null, "", location.pathname + location.search);
  logIn(given);
}

addEventListener("hashchange", logInFromLink);
logInFromLink();
