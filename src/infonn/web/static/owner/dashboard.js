// One study, live: asked for every two seconds, drawn anew where something changed.

import { $, h, pageData } from "../shared/dom.js";
import { call, copy, download, notice, study } from "./api.js";
import { accuracyFigure, paceFigure, paces } from "./curves.js";
import { Figure, percent } from "./figures.js";
import { ItemMap } from "./map.js";
import { LABEL_EXPORTS, showLabels } from "./labels.js";
import { People, ago } from "./people.js";
import { steer } from "./steering.js";
import { drawTrust } from "./trust.js";

const EVERY_MS = 2000;
const FEWEST = 10; // hold-out answers from which on a point is drawn
const FEWEST_COMPARED = 30; // and from which on random questions stand beside chosen ones
const LISTED = 300; // items of the map as a table

const { name, labels, exports: formats } = pageData();
const base = study(name);
const curve = new Figure($("#accuracy"));
const pace = new Figure($("#pace"));
const map = new ItemMap($("#map"), $("#map-caption"));
const people = new People(name);
let seen = { model: undefined, answers: undefined };
let points = [];
let embedding = null;

async function look() {
  const status = await call("GET", `${base}/status`);
  const answers = JSON.stringify([status.answers, status.skipped, status.undone, status.people]);
  const work = [];
  if (status.model_at !== seen.model) work.push(drawCurve(status), drawMap(status), drawTrust(base));
  if (answers !== seen.answers || status.model_at !== seen.model) work.push(people.update(), labels && showLabels(name));
  await Promise.all(work);
  seen = { model: status.model_at, answers };
  tiles(status);
  alerts(status);
}

async function drawCurve(status) {
  const [accuracy, forecast] = await Promise.all([call("GET", `${base}/accuracy`), call("GET", `${base}/forecast`)]);
  points = byAnswers(accuracy.points);
  const telling = points.filter(isTelling);
  const compared = byAnswers(accuracy.compared.filter((point) => point.n_hold_out >= FEWEST_COMPARED));
  const drawn = [curve.update(accuracyFigure({ points: telling, ahead: forecast.points, compared, chance: accuracy.chance, goal: status.goal }))];
  const bars = paces(points);
  $("#pace-part").hidden = !bars.length;
  if (bars.length) drawn.push(pace.update(paceFigure(bars)));
  const now = telling.at(-1);
  $("#accuracy").setAttribute("aria-label", now ? `Accuracy ${percent(now.accuracy)} after ${now.n_answers} answers, interval ${percent(now.low)} to ${percent(now.high)}.` : "No accuracy has been measured yet.");
  $("#pace").setAttribute("aria-label", `Answers a minute over time; ${status.answers_last_minute} in the last minute.`);
  $("#outlook").classList.toggle("stop", forecast.stop);
  $("#outlook").replaceChildren(...[...forecast.sentences, ...beside(compared.at(-1))].map((sentence) => h("p", {}, sentence)));
  const rows = [...points].reverse().slice(0, 200).map((p) =>
    h("tr", {}, [p.n_answers.toLocaleString(), percent(p.accuracy, 1), `${percent(p.low)} – ${percent(p.high)}`, p.n_hold_out].map((cell) => h("td", {}, `${cell}`))),
  );
  const head = ["Answers", "Accuracy", "95 % interval", "Hold-out answers"].map((text) => h("th", { scope: "col" }, text));
  $("#accuracy-table").replaceChildren(h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)));
  await Promise.all(drawn);
}

/** What random questions gave beside the chosen ones. */
function beside(last) {
  if (!last) return [];
  const told = ({ accuracy, low, high }) => `${percent(accuracy)} (${percent(low)} to ${percent(high)})`;
  return [`${last.n_answers.toLocaleString()} answers to chosen questions give ${told(last.chosen)}, as many to random ones ${told(last.random)}, on the same ${last.n_hold_out} hold-out answers.`];
}

/** Before that it is noise. */
const isTelling = (point) => point.n_hold_out >= FEWEST;

/** One point for each number of answers: the last one measured. */
function byAnswers(all) {
  return [...new Map(all.map((point) => [point.n_answers, point])).values()].sort((a, b) => a.n_answers - b.n_answers);
}

async function drawMap(status) {
  if (status.model_at === null) return;
  embedding = await call("GET", `${base}/embedding`);
  $("#findings").textContent = embedding.findings.join(" ");
  await map.update(embedding.items);
  listItems();
}

/** The map in words, once somebody wants it. */
function listItems() {
  if (!$("#map-details").open || !embedding) return;
  const rows = embedding.items.slice(0, LISTED).map((item, i) =>
    h("tr", {}, h("td", {}, item.name), h("td", {}, map.nearest(i).map((j) => embedding.items[j].name).join(", ")), h("td", {}, item.spread === null ? "–" : `±${item.spread.toPrecision(2)}`)),
  );
  const head = ["Item", "Nearest", "Uncertainty of its place"].map((text) => h("th", { scope: "col" }, text));
  $("#map-table").replaceChildren(h("table", { class: "words" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)));
}

function tiles(status) {
  const last = points.findLast(isTelling);
  const all = [
    tile("Answers", status.answers.train.toLocaleString(), `of ${status.goal.toLocaleString()}; ${status.answers.hold_out} hold-out, ${status.skipped + status.cannot_tell} skipped`),
    tile("Accuracy", last ? percent(last.accuracy) : "–", last ? `95\u00a0% interval ${(100 * last.low).toFixed(0)} to ${percent(last.high)}` : status.answers.hold_out < FEWEST ? `needs ${FEWEST} hold-out answers; ${status.answers.hold_out} so far` : "comes with the next fit"),
    tile("Answers a minute", status.answers_last_minute, "in the last minute"),
    tile("People at work", status.people_at_work, `${status.people} in all`),
    tile("Questions ready", status.queue, `${status.leased} on people’s screens`, status.queue === 0 && status.people_at_work > 0),
    tile("Staleness", Math.round(status.unseen_median), `answers the model had not seen; at most ${Math.round(status.unseen_p95)} mostly`),
    tile("Random stand-ins", percent(status.fallback_share, 1), `${status.fallback} of ${status.asked} questions`, status.fallback_share > 0.01),
    tile("Last fit", ago(status.model_at), status.model_at ? `${status.model_answers} answers, ${status.fit_seconds.toFixed(2)} s${status.up_to_date ? "" : "; more have come"}` : "waiting for answers"),
  ];
  $("#tiles").replaceChildren(...all);
}

function tile(title, value, note, bad = false) {
  return h("div", { class: `tile${bad ? " bad" : ""}` }, h("dt", {}, title), h("dd", { class: "value" }, `${value}`), h("dd", { class: "note" }, note.replaceAll(" %", "\u00a0%")));
}

function alerts(status) {
  const lines = [...(status.error ? [[status.error, "error"]] : []), ...status.warnings.map((text) => [text, "warning"])];
  const text = JSON.stringify(lines);
  if (text === alerts.shown) return;
  alerts.shown = text;
  $("#alerts").replaceChildren(...lines.map(([sentence, kind]) => h("li", { class: kind }, sentence)));
}

async function describe() {
  const one = await call("GET", base);
  $("#link").textContent = one.link;
  $("#go-preview").href = `${base}/preview`;
  $("#go-report").href = `${base}/report`;
  $("#go-answer").href = `/s/${one.key}?participant=owner`;
  $("#ended").hidden = !one.archived;
  $("#archive").textContent = one.archived ? "Open it again" : "End the study";
  steer(one, describe);
  $("#archive").onclick = async () => {
    await call("PATCH", base, { archived: !one.archived });
    notice(one.archived ? "The study is open again." : "The study has ended; its link says so.", () => call("PATCH", base, { archived: one.archived }).then(describe), "Undo");
    describe();
  };
}

$("#delete").addEventListener("submit", async (event) => {
  event.preventDefault();
  if ($("#delete-name").value !== name) return notice("This is not the study’s name; nothing was deleted.");
  try {
    await call("DELETE", base);
    location.assign("/studies");
  } catch (problem) {
    notice(problem.message);
  }
});

function exports() {
  const paths = [...Object.entries(formats).map(([format, title]) => [title, `export?format=${format}`]), ...(labels ? LABEL_EXPORTS : [])];
  const links = paths.map(([title, path]) => h("a", { class: "button", href: `/api${base}/${path}`, download: "" }, title));
  const persons = h("a", { class: "button", href: `/api${base}/people/export`, download: "" }, "People (CSV)");
  const places = h("button", { type: "button", onclick: saveEmbedding }, "Embedding (CSV)");
  const all = h("a", { class: "button main", href: `/api${base}/bundle`, download: "" }, "Everything");
  $("#exports").replaceChildren(...links, persons, places, all);
}

function saveEmbedding() {
  if (!embedding) return notice("There is no embedding yet.");
  const dims = embedding.items[0].coordinates.map((_, d) => `x${d + 1}`);
  const rows = embedding.items.map((item) => [item.index, `"${item.name.replaceAll('"', '""')}"`, ...item.coordinates].join(","));
  download(`${name}-embedding.csv`, "text/csv", `${["item", "name", ...dims].join(",")}\n${rows.join("\n")}\n`);
}

async function keepLooking() {
  try {
    if (!document.hidden) await look();
    $("#notice").dataset.lost && (notice(""), delete $("#notice").dataset.lost);
  } catch (problem) {
    if (problem.status === undefined && !(problem instanceof TypeError)) throw problem;
    notice("The server cannot be reached; trying again.");
    $("#notice").dataset.lost = "yes";
  }
  setTimeout(keepLooking, EVERY_MS);
}

$("#copy").addEventListener("click", (event) => copy($("#link").textContent, event.target));
for (const [id, figure] of [["accuracy", curve], ["map", map.figure]]) {
  for (const format of ["svg", "png"]) $(`#save-${id}-${format}`).addEventListener("click", () => figure.save(format, `${name}-${id}`));
}
$("#map-details").addEventListener("toggle", listItems);
exports();
describe().catch((problem) => notice(problem.message));
keepLooking();
