// What this browser keeps of a study: session, questions at hand, answers not yet acknowledged, the last answer, and
// `unsent`: answers of sessions that the server did not know when they were sent.
// It is written before anything is sent, so a closed tab or a reload loses nothing.

const EMPTY = { session: null, respondent: null, who: null, deck: [], outbox: [], last: null, progress: { done: 0, of: null }, agreed: null, rested: 0, briefed: false, unsent: [] };
const MOST_UNSENT = 20; // sessions

export class Store {
  constructor(key) {
    this.name = `infonn/${key}`;
    this.load();
  }

  load() {
    this.state = { ...structuredClone(EMPTY), ...read(this.name) };
  }

  save() {
    write(this.name, this.state);
  }

  /** Begins anew; what was never acknowledged stays. */
  forget() {
    this.state = { ...structuredClone(EMPTY), unsent: this.state.unsent };
    this.save();
  }

  /** Keeps what waits in the outbox with the session it belongs to. */
  setAside() {
    const { session, respondent, outbox, unsent } = this.state;
    if (outbox.length) this.state.unsent = [...unsent, { session, respondent, entries: outbox }].slice(-MOST_UNSENT);
    this.state.outbox = [];
    this.save();
  }
}

/** One tab answers at a time: the last one that was opened, or in which the person asked to go on. */
export class ActiveTab {
  constructor(key, onLost) {
    this.name = `infonn/${key}/tab`;
    this.id = newId();
    addEventListener("storage", (event) => {
      if (event.key === this.name && event.newValue !== JSON.stringify(this.id)) onLost();
    });
  }

  take() {
    write(this.name, this.id);
  }

  get mine() {
    return read(this.name) === this.id;
  }
}

/** 128 random bits; also where crypto.randomUUID is missing (plain http in a local network). */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const memory = new Map(); // where the browser keeps nothing, at least this page does

function read(name) {
  try {
    return JSON.parse(localStorage.getItem(name));
  } catch {
    return memory.get(name) ?? null;
  }
}

function write(name, value) {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    memory.set(name, value);
  }
}
