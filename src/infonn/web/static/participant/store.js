// What this browser keeps of a study: session, questions at hand, answers not yet acknowledged, the last answer.
// It is written before anything is sent, so a closed tab or a reload loses nothing.

const EMPTY = { session: null, who: null, deck: [], outbox: [], last: null, progress: { done: 0, of: null }, agreed: null };

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

  forget() {
    this.state = structuredClone(EMPTY);
    this.save();
  }
}

/** One tab answers at a time: the last one that was opened, or in which the person asked to go on. */
export class Turnstile {
  constructor(key, onLost) {
    this.name = `infonn/${key}/tab`;
    this.id = newId();
    addEventListener("storage", (event) => {
      if (event.key === this.name && event.newValue !== JSON.stringify(this.id)) onLost();
    });
  }

  enter() {
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
