// The one place that changes what is on the screen.

import { $, fill } from "../shared/dom.js";
import { build, view } from "./cards.js";
import { SHORTEST_LOOK_MS, painted } from "./clock.js";
import { boxes, labelBoxes } from "./layout.js";

const SECTIONS = [
  ...["welcome", "declined", "briefing", "about", "question", "pause", "waiting", "paused"],
  ...["end", "stopped", "withdrawn", "elsewhere", "trouble"],
];
const LOW_PX = 500; // a phone held sideways: the reference stands beside its candidates

export class Screen {
  constructor(texts, choose) {
    Object.assign(this, { texts, choose, prepared: new Map(), current: null, open: false, shortestLookMs: SHORTEST_LOOK_MS });
    this.stage = $("#stage");
    new ResizeObserver(() => this.fit()).observe(this.stage);
  }

  /** Build these questions and load their images; forget others. */
  prepare(questions) {
    const wanted = new Set(questions.map(({ id }) => id));
    for (const id of this.prepared.keys()) if (!wanted.has(id)) this.prepared.delete(id);
    for (const question of questions) {
      if (!this.prepared.has(question.id)) {
        const choose = (response, event) => this.choose(response, event);
        this.prepared.set(question.id, build(question, this.texts, choose));
      }
    }
  }

  /** Show a prepared question. Resolves with the time of its paint and the number of images that are missing. */
  async show(question) {
    const built = this.prepared.get(question.id);
    this.prepared.delete(question.id); // once shown it may be marked or ranked; an undo builds it afresh
    this.current = built;
    this.setOpen(false);
    $("#practice").hidden = !question.practice;
    $("#asked-about").textContent = question.reference ? view(question.reference).caption || question.reference.name : "";
    $("#feedback").hidden = true;
    $("#actions").hidden = false;
    const arrived = $("#question").hidden;
    this.section("question", false);
    this.stage.replaceChildren(built.node);
    this.fit();
    const focus = built.searched ? $(".search input", built.node) : $("#asked");
    if (arrived || document.activeElement === document.body || built.searched) focus.focus({ preventScroll: true });
    const missing = await built.ready;
    const at = await painted();
    if (this.current === built) this.setOpen(true);
    return { at, missing, built };
  }

  /** Whether a choice counts; the page says so, once the question was there long enough for one. */
  setOpen(open) {
    this.open = open;
    clearTimeout(this.opening);
    this.stage.removeAttribute("data-open");
    if (open) this.opening = setTimeout(() => this.stage.setAttribute("data-open", ""), this.shortestLookMs + 5);
  }

  /** No choice counts before somebody has looked so long. */
  lookAtLeast(seconds) {
    this.shortestLookMs = Math.max(SHORTEST_LOOK_MS, 1000 * seconds);
    $("#question").classList.toggle("slow", seconds > 0);
  }

  /** Size the boxes for the space there is. */
  fit() {
    const built = this.current;
    if (!built || $("#question").hidden) return;
    const top = this.stage.getBoundingClientRect().top + scrollY;
    const below = $("#actions").offsetHeight || $("#feedback").offsetHeight;
    const width = this.stage.clientWidth;
    const beside = innerHeight < LOW_PX && innerWidth > innerHeight;
    const height = Math.max(beside ? 110 : 300, innerHeight - top - below - 14);
    const style = built.node.style;
    built.node.classList.toggle("beside", beside);
    if (built.shape === "classes") {
      const sizes = labelBoxes(built.n || 1, width, built.searched ? height * 0.9 : height, built.withPictures, beside);
      const side = built.searched ? Math.min(sizes.side, height * 0.42) : sizes.side;
      style.setProperty("--cell-width", `${side}px`);
      style.setProperty("--cell-height", `${side}px`);
      style.setProperty("--option-width", built.searched ? "11rem" : `${sizes.option}px`);
      style.setProperty("--options-width", built.searched ? "100%" : `${sizes.across}px`);
      style.setProperty("--option-height", `${built.searched ? 48 : sizes.optionHeight}px`);
      style.setProperty("--option-picture", `${sizes.picture}px`);
    } else {
      const box = boxes(built.n, built.above, width, height, built.shape, beside);
      style.setProperty("--cell-width", `${Math.floor(box.width)}px`);
      style.setProperty("--cell-height", `${Math.floor(box.height)}px`);
    }
  }

  /** After a practice question: what was meant, and a button to go on. */
  feedback(response, expected, last, next) {
    const { buttons, question } = this.current;
    for (const button of buttons) {
      const own = button.dataset.response === undefined ? null : Number(button.dataset.response);
      button.disabled = true;
      if (own !== null && own === expected) mark(button, "right", "✓");
      else if (own !== null && own === response) mark(button, "wrong", "✗");
    }
    const meant = question.options.find((option) => option.response === expected);
    const right = response === expected;
    const picture = !right && meant?.item?.image && !view(meant.item).caption ? meant.item : null; // its name may say nothing
    const wrong = picture ? this.texts.practice_wrong_picture : fill(this.texts.practice_wrong, { expected: meant?.label ?? "" });
    $("#feedback-text").textContent = right ? this.texts.practice_right : wrong;
    $("#feedback-picture").hidden = !picture;
    if (picture) Object.assign($("#feedback-picture"), { src: picture.image, alt: picture.name });
    $("#feedback-next").textContent = last ? this.texts.practice_over : this.texts.practice_next;
    $("#feedback-next").onclick = next;
    $("#actions").hidden = true;
    $("#feedback").hidden = false;
    $("#feedback-next").focus({ preventScroll: true });
  }

  section(name, focus = true) {
    for (const other of SECTIONS) $(`#${other}`).hidden = other !== name;
    $("#help-button").hidden = name !== "question";
    if (name !== "question") this.current = null;
    if (focus) $(`#${name} h1`)?.focus({ preventScroll: true });
  }

  progress({ done, of }) {
    $("#progress").hidden = false;
    $("#progress-text").textContent = of ? fill(this.texts.progress_of, { done: Math.min(done, of), of }) : fill(this.texts.progress_open, { done });
    $("#progress-bar").hidden = !of;
    $("#progress-bar").max = of || 1;
    $("#progress-bar").value = Math.min(done, of || 1);
    $("#stop").hidden = Boolean(of);
  }

  /** A quiet line at the foot of the page; it goes by itself unless it has to stay. */
  notice(text, stays = false) {
    clearTimeout(this.noticeTimer);
    $("#notice").textContent = text;
    if (text && !stays) this.noticeTimer = setTimeout(() => this.notice(""), 3500);
  }
}

function mark(button, name, sign) {
  button.classList.add(name);
  const verdict = document.createElement("span");
  verdict.className = "verdict";
  verdict.textContent = sign;
  button.append(verdict);
}
