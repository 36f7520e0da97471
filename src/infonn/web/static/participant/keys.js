// Answering with single keys; the person can switch them off (they clash with some assistive software).

import { $ } from "../shared/dom.js";

const NAME = "infonn/keys";

export function listenForKeys(screen, actions) {
  const toggle = $("#keys");
  toggle.checked = remembered() !== "off";
  toggle.addEventListener("change", () => remember(toggle.checked ? "on" : "off"));
  document.addEventListener("keydown", (event) => {
    if (!toggle.checked || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if ($("#question").hidden || $("#help").open || $("#withdraw").open || event.target.matches("input, textarea, audio")) return;
    const pressed = event.key.toLowerCase();
    const button = screen.current?.buttons.find((other) => other.dataset.key === pressed);
    if (button && !$("#actions").hidden) act(event, () => actions.press(button, event));
    else if (event.key.startsWith("Arrow")) walk(screen, event);
    else if (pressed === "u" || event.key === "Backspace") act(event, () => actions.undo());
    else if (pressed === "c") act(event, () => actions.outcome("cannot_tell", event));
    else if (pressed === "s") act(event, () => actions.outcome("skipped", event));
  });
}

function act(event, action) {
  event.preventDefault();
  action();
}

/** Arrows move between the choices. */
function walk(screen, event) {
  const buttons = screen.current?.buttons.filter((button) => !button.disabled) ?? [];
  const at = buttons.indexOf(document.activeElement);
  const onwards = document.documentElement.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
  const forward = event.key === onwards || event.key === "ArrowDown";
  if (!buttons.length) return;
  act(event, () => buttons[at < 0 ? 0 : (at + (forward ? 1 : -1) + buttons.length) % buttons.length].focus());
}

function remembered() {
  try {
    return localStorage.getItem(NAME);
  } catch {
    return null;
  }
}

function remember(value) {
  try {
    localStorage.setItem(NAME, value);
  } catch {
    // then the choice holds for this page only
  }
}
