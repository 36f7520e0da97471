// The owner's side of the HTTP interface; a lost login leads back to the login page.

import { $, h } from "../shared/dom.js";

export async function call(method, path, body) {
  const form = body instanceof FormData;
  const reply = await fetch(`/api${path}`, {
    method,
    headers: form || body === undefined ? {} : { "content-type": "application/json" },
    body: form ? body : body === undefined ? undefined : JSON.stringify(body),
  });
  if (reply.status === 401 && path !== "/login") {
    location.assign(`/login?next=${encodeURIComponent(location.pathname)}`);
    return new Promise(() => {}); // the page is on its way out
  }
  const content = reply.status === 204 ? null : await reply.json().catch(() => ({}));
  if (!reply.ok) throw Object.assign(new Error(content?.detail ?? `The server answered ${reply.status}.`), { status: reply.status });
  return content;
}

export const study = (name) => `/studies/${encodeURIComponent(name)}`;

let timer;

/** A line at the foot of the page, maybe with something to do about it. */
export function notice(text, action, label) {
  clearTimeout(timer);
  const button = action && h("button", { type: "button", onclick: () => (notice(""), action()) }, label);
  $("#notice").replaceChildren(text, ...(button ? [button] : []));
  if (text) timer = setTimeout(() => notice(""), action ? 30_000 : 4000);
}

export async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = h("textarea", { class: "unseen" });
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  const before = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = before), 1500);
}

export function download(filename, type, text) {
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type })), download: filename });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

$("#log-out")?.addEventListener("click", async () => {
  await call("POST", "/logout");
  location.assign("/login");
});
