// A question as elements, built ahead of time: its images load and decode while an earlier question is answered.

import { h } from "../shared/dom.js";
import { nearestExamples, noneOfThese } from "./labels.js";

const PATIENCE_MS = 12_000; // after this a question is shown though an image is still missing
export const MANY_CLASSES = 12;

/** {node, ready, buttons}: `ready` resolves when all images are decoded, with the number that failed. */
export function build(question, texts, choose) {
  const pictures = [];
  const kind = question.kind === "label" ? buildClasses : question.kind === "ranking" ? buildRanking : buildCandidates;
  const built = kind(question, texts, choose, pictures);
  built.node.lang = "";
  const ready = Promise.all(pictures.map((picture) => loaded(picture, texts))).then(
    (outcomes) => outcomes.filter((fine) => !fine).length,
  );
  return { question, ready, ...built };
}

function buildCandidates(question, texts, choose, pictures) {
  const shown = question.options.map(({ response, label, item }) => ({ response, item: item ?? { name: label } }));
  const buttons = shown.map(({ response, item }, place) => {
    const button = choice(place + 1, contents(item, pictures), (event) => choose(response, event));
    button.dataset.response = response;
    return button;
  });
  return frame(question, texts, shown.map(({ item }) => item), pictures, buttons);
}

/** Click the candidates from nearest to farthest; the last place fills itself. */
function buildRanking(question, texts, choose, pictures) {
  const n = question.candidates.length;
  const all = orders(n);
  const onScreen = all[question.options[0].response]; // the stored order of the options decides it
  const ranked = [];
  const buttons = onScreen.map((candidate, place) => {
    const toggle = (event) => {
      const at = ranked.indexOf(candidate);
      if (at >= 0) ranked.splice(at, 1);
      else ranked.push(candidate);
      if (ranked.length === n - 1) ranked.push(onScreen.find((other) => !ranked.includes(other)));
      onScreen.forEach((other, i) => {
        const rank = ranked.indexOf(other);
        buttons[i].querySelector(".rank")?.remove();
        buttons[i].setAttribute("aria-pressed", rank >= 0);
        if (rank >= 0) buttons[i].append(h("span", { class: "rank" }, `${rank + 1}`));
      });
      if (ranked.length === n) choose(all.findIndex((order) => order.every((c, i) => c === ranked[i])), event);
    };
    const button = choice(place + 1, contents(question.candidates[candidate], pictures), toggle);
    button.setAttribute("aria-pressed", "false");
    return button;
  });
  const items = onScreen.map((candidate) => question.candidates[candidate]);
  return frame(question, texts, items, pictures, buttons);
}

/** The reference above, where there is one, and the items to choose from below. */
function frame(question, texts, items, pictures, buttons) {
  const { reference } = question;
  const views = [...(reference ? [reference] : []), ...items].map(view);
  const classes = ["asked"];
  if (!views.some((v) => v.image)) classes.push("text-only");
  if (views.some((v) => v.bars.length)) classes.push("with-bars");
  if (views.some((v) => v.caption.length > 160)) classes.push("prosaic");
  const above = reference && h("figure", { class: "item", "aria-label": texts.reference }, contents(reference, pictures), sound(reference));
  const cards = buttons.map((button, i) => h("div", { class: "card" }, button, sound(items[i])));
  const options = h("div", { class: "options", role: "group", "aria-label": texts.options }, cards);
  const shape = views.some((v) => v.image) ? "picture" : "text";
  return { node: h("div", { class: classes.join(" ") }, above, options), buttons, shape, n: buttons.length, above: above ? 1 : 0 };
}

function buildClasses(question, texts, choose, pictures) {
  const reference = h("figure", { class: "item", "aria-label": texts.reference_label }, contents(question.reference, pictures), sound(question.reference));
  const withPictures = question.options.some(({ item }) => item?.image);
  const searched = question.options.length > MANY_CLASSES;
  const letters = question.options.every(({ label }) => [...label].length === 1);
  const buttons = question.options.map(({ response, label, item }, place) => {
    const example = withPictures && !searched ? exampleOf(item, pictures) : null;
    const hint = item && !withPictures && !searched ? h("span", { class: "missing" }, view(item).caption) : null;
    const key = letters || searched ? null : place + 1;
    const button = choice(key, [example, h("span", { class: "caption" }, label), hint], (event) => choose(response, event));
    Object.assign(button.dataset, { response, label });
    if (letters) button.dataset.key = label.toLowerCase();
    return button;
  });
  const cards = buttons.map((button) => h("div", { class: "card" }, button));
  const options = h("div", { class: "options", role: "group", "aria-label": texts.options }, cards);
  const none = noneOfThese(texts, choose, buttons.map(({ dataset }) => dataset.key));
  const near = searched && nearestExamples(question, texts, choose, (item) => (item.image ? picture(item.image, "", pictures) : null));
  const above = [searched && search(buttons, texts), near];
  const node = h("div", { class: `asked classes${searched ? " searched" : ""}` }, reference, above, options, none);
  return { node, buttons: [...buttons, none], shape: "classes", n: searched ? 0 : cards.length, withPictures: withPictures && !searched, searched };
}

function exampleOf(item, pictures) {
  if (!item?.image) return h("span", { class: "no-example", "aria-hidden": "true" }, "–");
  return picture(item.image, "", pictures);
}

/** Type-ahead: what is typed narrows the classes, Enter takes the first. */
function search(buttons, texts) {
  const none = h("p", { class: "missing", role: "status" });
  const input = h("input", { type: "search", placeholder: texts.search, "aria-label": texts.search, autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
  const narrow = () => {
    const wanted = input.value.trim().toLowerCase();
    const rank = (label) => (label.startsWith(wanted) ? 0 : label.split(/\W+/).some((word) => word.startsWith(wanted)) ? 1 : label.includes(wanted) ? 2 : 3);
    let first = null;
    for (const button of [...buttons].sort((a, b) => rank(a.dataset.label.toLowerCase()) - rank(b.dataset.label.toLowerCase()))) {
      const visible = rank(button.dataset.label.toLowerCase()) < 3;
      button.parentElement.hidden = !visible;
      button.classList.toggle("first-match", visible && wanted !== "" && first === null);
      if (visible && first === null) first = button;
      button.parentElement.parentElement?.append(button.parentElement);
    }
    none.textContent = first ? "" : texts.search_none;
    return first;
  };
  input.addEventListener("input", narrow);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && input.value.trim()) {
      event.preventDefault();
      narrow()?.click();
    }
  });
  return h("div", { class: "search" }, input, none);
}

function choice(number, inside, onclick) {
  const badge = number && number <= 9 ? h("kbd", { class: "number", "aria-hidden": "true" }, `${number}`) : null;
  return h("button", { type: "button", class: "choice", "data-key": badge && `${number}`, onclick }, badge, inside);
}

/** What an item shows: its image; its text, or its name where there is neither; lines "sweet: 67 %" as small bars. */
export function view(item) {
  const bars = [];
  const prose = [];
  for (const line of (item.text ?? "").split("\n")) {
    const found = /^\s*([^:]{1,30}):\s*(\d+(?:\.\d+)?)\s*%\s*$/.exec(line);
    if (found) bars.push({ name: found[1].trim(), percent: Math.min(100, Number(found[2])) });
    else if (line.trim()) prose.push(line.trim());
  }
  const caption = prose.join("\n") || (item.image && !bars.length ? "" : item.name);
  return { image: item.image, caption, bars };
}

export function contents(item, pictures) {
  const { image, caption, bars } = view(item);
  return [
    image ? picture(image, caption ? "" : item.name, pictures) : null,
    caption ? h("span", { class: "caption", dir: "auto" }, caption) : null,
    bars.length ? barsOf(bars) : null,
  ];
}

function barsOf(bars) {
  const rows = bars.flatMap(({ name, percent }) => {
    const length = h("span");
    length.style.width = `${percent}%`;
    return [h("span", { class: "bar-name" }, name, h("span", { class: "unseen" }, ` ${percent} %, `)), h("span", { class: "bar" }, length)];
  });
  return h("span", { class: "bars" }, rows);
}

function picture(source, alt, pictures) {
  const image = h("img", { class: "picture", src: source, alt, draggable: "false", decoding: "sync" });
  pictures.push(image);
  return image;
}

function sound(item) {
  return item?.audio ? h("audio", { controls: true, preload: "auto", src: item.audio, "aria-label": item.name }) : null;
}

async function loaded(image, texts) {
  const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, false));
  const fine = await Promise.race([image.decode().then(() => true, () => false), late]);
  if (!fine) image.replaceWith(h("span", { class: "missing" }, texts.image_missing));
  return fine;
}

/** As itertools.permutations(range(n)): in lexicographic order. */
export function orders(n) {
  if (n === 0) return [[]];
  const result = [];
  const extend = (begun) => {
    if (begun.length === n) result.push(begun);
    else for (let i = 0; i < n; i += 1) if (!begun.includes(i)) extend([...begun, i]);
  };
  extend([]);
  return result;
}
