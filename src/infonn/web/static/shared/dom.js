// Small words for building pages. Text is always text: nothing here parses HTML.

export const $ = (selector, root = document) => root.querySelector(selector);

/** An element: h("button", {class: "main", onclick: f}, "Go", child). Properties that begin with "on" are listeners. */
export function h(name, properties = {}, ...children) {
  const element = document.createElement(name);
  set(element, properties);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function set(element, properties) {
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
}

/** Fills {places} in a text. */
export const fill = (text, values) => text.replace(/\{(\w+)\}/g, (whole, key) => values[key] ?? whole);

/** What the server put into the page as data. */
export const pageData = () => JSON.parse($("#page").textContent);
