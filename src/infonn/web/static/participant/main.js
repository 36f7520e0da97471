// A person at a study: welcome, questions one by one, the end.

import { $, fill, pageData } from "../shared/dom.js";
import { Clock, deviceClass, painted } from "./clock.js";
import { showForm } from "./form.js";
import { listenForKeys } from "./keys.js";
import { NONE } from "./labels.js";
import { Outbox } from "./outbox.js";
import { Screen } from "./screen.js";
import { PreviewServer, Server } from "./server.js";
import { Store, ActiveTab, newId } from "./store.js";

const REDIRECT_MS = 4000;
const page = pageData();
const texts = page.texts;
const parameters = Object.fromEntries([...new URLSearchParams(location.search)].slice(0, 18).map(([k, v]) => [k.slice(0, 64), v.slice(0, 256)]));
const who = page.who.map((name) => parameters[name]).find(Boolean) ?? null;

const place = page.preview ? `preview/${page.key}` : page.key;
const store = new Store(place);
if (page.preview) store.forget();
const server = page.preview ? new PreviewServer(page.preview, page.study) : new Server(page.key, () => store.state.session);
const activeTab = new ActiveTab(place, () => leave());
const clock = new Clock();
const screen = new Screen(texts, (response, event) => choose(response, event));
const outbox = new Outbox(
  store,
  server,
  {
    delivered: (turn) => {
      connected();
      take(turn);
    },
    refused: (problem) => {
      screen.notice(fill(texts.refused, { reason: problem.message }), true);
      refresh();
    },
    unknown: () => restart(),
    waiting: () => disconnected(),
    idle: () => connected(),
  },
  () => activeTab.mine,
);
const framed = parent !== window;
let offline = false;
let finished = null; // the last turn, once there is no more to ask
let study = page.study; // as it is in this person's condition
let following = { form: null, paused: false }; // what comes where there is no question: a form, or that the study pauses
screen.lookAtLeast(study.min_time_s);

// --- arriving -------------------------------------------------------------------------------------

async function begin() {
  activeTab.take();
  store.load();
  if (store.state.session && who && store.state.who !== who && !store.state.outbox.length) store.forget();
  if (!store.state.session) {
    outbox.sendUnsent();
    return; // the welcome is on the screen
  }
  screen.section("waiting", false);
  await arrive();
}

async function arrive() {
  const sent = { ...parameters };
  if (store.state.agreed) sent.consented_at = store.state.agreed;
  try {
    const turn = await server.arrive(sent, store.state.session);
    if (store.state.session && store.state.respondent !== turn.respondent) store.setAside(); // it was not known any more
    Object.assign(store.state, { session: turn.session, respondent: turn.respondent, who });
    store.save();
    connected();
    if (turn.study) study = turn.study;
    $("#asked-text").textContent = study.question || texts[`question_${study.kind}`];
    if (turn.briefing) brief(turn.briefing);
    take(turn);
    outbox.run();
    if (await outbox.sendUnsent()) refresh();
  } catch (problem) {
    if (problem.temporary === undefined) throw problem;
    if (problem.temporary && store.state.deck.length) {
      disconnected();
      showNext();
      outbox.run();
    } else {
      trouble(problem.temporary ? texts.trouble_unreachable : problem.message);
    }
  }
}

/** Instructions of this person's own condition: on a page of their own once, and in the help. */
function brief(html) {
  for (const place of ["#briefing-text", "#help-text"]) {
    const parsed = new DOMParser().parseFromString(html, "text/html"); // made clean by the server; scripts would not run
    $(place).replaceChildren(...parsed.body.childNodes);
  }
  if (!store.state.briefed) screen.section("briefing");
}

/** The server does not know this session (another database, say): begin anew; what was not stored is kept and tried again. */
function restart() {
  store.forget();
  screen.notice(texts.unknown_session, true);
  screen.section("welcome");
}

// --- questions ------------------------------------------------------------------------------------

/** What the server says comes next, seen together with what has not reached it yet. */
function take(turn) {
  const ahead = outbox.foresee(turn.questions);
  const shown = screen.current?.question;
  const place = shown ? ahead.findIndex(({ id }) => id === shown.id) : -1;
  if (place > 0) ahead.unshift(...ahead.splice(place, 1));
  store.state.deck = ahead;
  store.state.progress = turn.progress;
  store.save();
  finished = turn.finished && !outbox.entries.length ? turn : null;
  following = { form: turn.form ?? null, paused: turn.paused ?? false };
  screen.prepare(ahead);
  progress();
  const feedback = !$("#feedback").hidden && !$("#question").hidden;
  const elsewhere = ["stopped", "elsewhere", "briefing", "pause", "withdrawn"].some((name) => !$(`#${name}`).hidden);
  if (place < 0 && !feedback && !elsewhere) showNext();
}

async function refresh() {
  try {
    take(await server.questions());
  } catch (problem) {
    if (problem.temporary === undefined) throw problem;
    if (problem.temporary) setTimeout(refresh, 3000);
    else trouble(problem.message);
  }
}

/** Show the question at hand, the end, or that we wait. `started` is when the person chose. */
async function showNext(started = null) {
  clock.stop();
  const question = store.state.deck[0];
  if (!question) {
    if (finished) return end(finished);
    if (following.form && !outbox.entries.length) return ask(following.form);
    if (following.paused && !outbox.entries.length) return screen.section("paused");
    $("#waiting-text").textContent = outbox.entries.length ? texts.saving : texts.loading;
    screen.section("waiting", false);
    if (!outbox.entries.length && !offline) refresh();
    return;
  }
  if (isDue(question)) return rest();
  screen.prepare(store.state.deck);
  $("#undo").disabled = !store.state.last;
  const { at, missing, built } = await screen.show(question);
  if (screen.current !== built) return;
  clock.begin(at);
  clock.missing = missing;
  if (started !== null) performance.measure("choice-to-paint", { start: started, end: at });
}

function choose(chosen, event, asked = "answered") {
  const none = chosen === NONE;
  const [response, outcome] = none ? [null, "cannot_tell"] : [chosen, asked];
  const question = store.state.deck[0];
  const now = Math.min(event.timeStamp || Infinity, performance.now());
  if (!screen.open || !question || screen.current?.question.id !== question.id) return;
  if (clock.start === null || now - clock.start < screen.shortestLookMs) return;
  if (!activeTab.mine) return leave();
  const { seconds, ...seen } = clock.read(now);
  const body = {
    id: newId(),
    question: question.id,
    response,
    outcome,
    response_time_s: Math.round(seconds * 1e4) / 1e4,
    context: { ...seen, images_missing: clock.missing, ...(none && { none_of_these: true }), ...circumstances(event) },
  };
  screen.setOpen(false);
  clock.stop();
  store.state.deck.shift();
  store.state.last = { id: body.id, question };
  outbox.entries.push({ type: "answer", body, question });
  store.save();
  progress();
  if (question.practice && outcome === "answered" && question.expected !== null) {
    const last = !store.state.deck.some((other) => other.practice);
    screen.feedback(response, question.expected, last, () => showNext());
  } else {
    showNext(now);
  }
  outbox.run();
}

function undo() {
  const last = store.state.last;
  if (!last || $("#question").hidden || !activeTab.mine) return;
  store.state.last = null;
  if (!outbox.cancel(last.id)) {
    outbox.entries.push({ type: "undo", body: { answer: last.id }, question: last.question });
  }
  store.state.deck.unshift(last.question);
  store.save();
  progress();
  showNext();
  screen.notice(texts.undone);
  outbox.run();
}

function circumstances(event) {
  const by = event.type?.startsWith("key") || event.detail === 0 ? "key" : event.pointerType || "pointer";
  return { by, device: deviceClass(), window: [innerWidth, innerHeight] };
}

/** The server's count, and what is on its way there. */
function answered() {
  let { done } = store.state.progress;
  for (const { type, question } of outbox.entries) if (!question.practice) done += type === "undo" ? -1 : 1;
  return done;
}

function progress() {
  screen.progress({ done: answered(), of: store.state.progress.of });
}

// --- forms and pauses -----------------------------------------------------------------------------

/** The person's own page of questions, before the first one or after the last. */
function ask(form) {
  if (!$("#about").hidden && $("#about-form").dataset.form === form) return;
  $("#about-heading").textContent = texts[`form_${form}`];
  $("#about-form").dataset.form = form;
  showForm($("#about-form"), study[form], texts, async (values) => {
    const turn = await server.about(form, values);
    screen.section("waiting", false);
    take(turn);
  });
  screen.section("about");
}

/** Whether a block is over, and its pause was not taken yet. */
function isDue(question) {
  const done = answered();
  return study.block > 0 && !question.practice && done > 0 && done % study.block === 0 && store.state.rested !== done;
}

function rest() {
  const done = answered();
  const until = performance.now() + 1000 * study.pause_s;
  $("#pause-text").textContent = fill(texts.pause_text, { done });
  const count = () => {
    const seconds = Math.ceil((until - performance.now()) / 1000);
    $("#pause-over").disabled = seconds > 0;
    $("#pause-over").textContent = seconds > 0 ? fill(texts.pause_wait, { seconds }) : texts.pause_button;
    if (seconds > 0) setTimeout(count, 250);
  };
  count();
  $("#pause-over").onclick = () => {
    store.state.rested = done;
    store.save();
    screen.section("waiting", false);
    showNext();
  };
  screen.section("pause");
}

// --- the connection -------------------------------------------------------------------------------

function disconnected() {
  offline = true;
  screen.notice(texts.offline, true);
}

function connected() {
  if (!offline || outbox.entries.length) return;
  offline = false;
  screen.notice(texts.online);
  if (!$("#waiting").hidden) refresh();
}

addEventListener("offline", () => store.state.session && disconnected());
addEventListener("online", () => {
  if (!outbox.entries.length) connected();
});

// --- other pages ----------------------------------------------------------------------------------

function end(turn) {
  const ended = turn.ended ?? "done";
  $("#end-heading").textContent = ended === "done" ? texts.end_heading : texts[`${ended}_heading`];
  $("#end-text").textContent = ended === "done" ? texts.end_text : texts[`${ended}_text`];
  for (const place of ["#end-thanks", "#end-withdraw"]) if ($(place)) $(place).hidden = ended !== "done";
  screen.section("end");
  store.state.last = null;
  store.save();
  $("#end-code").hidden = !turn.completion_code;
  $("#code").textContent = turn.completion_code ?? "";
  const target = safeUrl(turn.completion_url);
  $("#end-redirect").hidden = !target;
  if (target) {
    $("#end-link").href = target;
    if (!framed) setTimeout(() => location.assign(target), REDIRECT_MS);
  }
  tell(ended, { completion_code: turn.completion_code ?? null, completion_url: target });
}

/** Word to the page around this one, where the study lets a site show it in a frame. */
function tell(ended, more = {}) {
  const message = { source: "infonn", event: "ended", ended, study: page.key, participant: who, ...more };
  if (framed) for (const origin of page.embed) parent.postMessage(message, origin);
}

async function withdraw() {
  $("#withdraw-problem").textContent = "";
  try {
    await server.withdraw();
  } catch (problem) {
    if (problem.temporary === undefined) throw problem;
    $("#withdraw-problem").textContent = problem.temporary ? texts.trouble_unreachable : problem.message;
    return;
  }
  store.state.outbox = [];
  store.state.unsent = [];
  store.forget();
  $("#withdraw").close();
  $("#help").close();
  screen.section("withdrawn");
  tell("withdrawn");
}

function safeUrl(text) {
  try {
    const url = new URL(text);
    return ["http:", "https:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** Another tab goes on with this study. */
function leave() {
  if (store.state.session) screen.section("elsewhere");
}

function trouble(text) {
  $("#trouble-text").textContent = text;
  screen.section("trouble");
}

// --- buttons --------------------------------------------------------------------------------------

/** The button waits for this script, so that no click is lost, and for consent where it is asked for. */
const offerStart = () => ($("#start").disabled = $("#consent") !== null && !$("#consent").checked);
$("#consent")?.addEventListener("change", offerStart);
$("#start").addEventListener("click", () => {
  if ($("#consent")) store.state.agreed = new Date().toISOString();
  screen.section("waiting", false);
  arrive();
});
offerStart();
$("#decline")?.addEventListener("click", () => {
  screen.section("declined");
  tell("declined");
});
$("#briefed").addEventListener("click", () => {
  store.state.briefed = true;
  store.save();
  screen.section("waiting", false);
  showNext();
});
for (const button of document.querySelectorAll(".withdraw")) button.addEventListener("click", () => $("#withdraw").showModal());
$("#withdraw-no").addEventListener("click", () => $("#withdraw").close());
$("#withdraw-yes").addEventListener("click", withdraw);
$("#paused-retry").addEventListener("click", () => {
  screen.section("waiting", false);
  refresh();
});
$("#undo").addEventListener("click", undo);
$("#skip").addEventListener("click", (event) => choose(null, event, "skipped"));
$("#cannot-tell").addEventListener("click", (event) => choose(null, event, "cannot_tell"));
$("#stop").addEventListener("click", () => screen.section("stopped"));
$("#go-on").addEventListener("click", () => showNext());
$("#take-over").addEventListener("click", () => begin());
$("#retry").addEventListener("click", () => {
  screen.section("waiting", false);
  arrive();
});
$("#help-button").addEventListener("click", () => $("#help").showModal());
$("#help-close").addEventListener("click", () => $("#help").close());
$("#copy-code").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText($("#code").textContent);
  } catch {
    getSelection().selectAllChildren($("#code"));
    document.execCommand("copy");
  }
  $("#copy-code").textContent = texts.end_copied;
});
listenForKeys(screen, {
  undo,
  press: (button, event) => (button.getAttribute("aria-pressed") ? button.click() : choose(button.dataset.response === NONE ? NONE : Number(button.dataset.response), event)),
  outcome: (outcome, event) => choose(null, event, outcome),
});
// A page restored by the browser's back button may be an old one.
addEventListener("pageshow", (event) => event.persisted && begin());

painted().then(() => (document.documentElement.dataset.ready = "yes"));
begin();
