// Answers and undos wait here until the server has acknowledged them, in the order in which they were given.

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 20_000;

export class Outbox {
  /** `events`: delivered(turn), refused(problem), unknown() for a session the server does not know, waiting(problem), idle(). */
  constructor(store, server, events, mayRun) {
    Object.assign(this, { store, server, events, mayRun, running: false, wake: null });
    addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => document.hidden || this.hurry());
  }

  get entries() {
    return this.store.state.outbox;
  }

  /** Takes an answer back before it was ever sent; false where an undo has to be sent after it. */
  cancel(answerId) {
    const place = this.entries.findIndex((entry) => entry.type === "answer" && entry.body.id === answerId);
    if (place < 0 || this.entries[place].tried) return false;
    this.entries.splice(place, 1);
    this.store.save();
    return true;
  }

  /** What is at hand once everything that waits here has reached the server. */
  foresee(questions) {
    let ahead = [...questions];
    for (const { question, type } of this.entries) {
      ahead = ahead.filter((other) => other.id !== question.id);
      if (type === "undo") ahead.unshift(question);
    }
    return ahead;
  }

  hurry() {
    this.wake?.();
    this.run();
  }

  async run() {
    if (this.running) return;
    this.running = true;
    let pause = FIRST_PAUSE_MS;
    while (this.entries.length && this.mayRun()) {
      const entry = this.entries[0];
      entry.tried = true;
      this.store.save();
      try {
        const turn = await this.server.send(entry);
        this.remove(entry);
        pause = FIRST_PAUSE_MS;
        this.events.delivered(turn);
      } catch (problem) {
        if (problem.temporary === undefined) throw problem;
        if (problem.temporary) {
          this.events.waiting(problem);
          await this.pause(pause * (0.75 + Math.random() / 2));
          pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
        } else if (problem.status === 401) {
          this.store.setAside();
          this.events.unknown();
        } else {
          this.remove(entry);
          this.events.refused(problem);
        }
      }
    }
    this.running = false;
    if (!this.entries.length) this.events.idle();
  }

  /** Sends what was set aside once more, with its own session or the present one of the same person; whether any arrived. */
  async sendUnsent() {
    let arrived = false;
    for (const lot of [...this.store.state.unsent]) {
      const { session, respondent } = this.store.state;
      const shown = session && lot.respondent === respondent ? session : lot.session;
      try {
        while (lot.entries.length) {
          await this.server.send(lot.entries[0], shown).catch((problem) => {
            if (problem.temporary !== false || problem.status === 401) throw problem;
          });
          lot.entries.shift();
          this.store.save();
          arrived = true;
        }
      } catch (problem) {
        if (problem.temporary === undefined) throw problem;
        continue; // another time
      }
      this.store.state.unsent = this.store.state.unsent.filter((other) => other !== lot);
      this.store.save();
    }
    return arrived;
  }

  remove(entry) {
    this.store.state.outbox = this.entries.filter((other) => other !== entry);
    this.store.save();
  }

  pause(ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => (clearTimeout(timer), resolve());
    });
  }
}
