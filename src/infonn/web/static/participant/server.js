// The study's HTTP interface. A problem is `temporary` when the same request may work later.

const PATIENCE_MS = 15_000;

export class Problem extends Error {
  constructor(message, status, temporary) {
    super(message);
    this.status = status;
    this.temporary = temporary;
  }
}

export class Server {
  constructor(key, session) {
    this.base = `/api/p/${encodeURIComponent(key)}`;
    this.session = session; // a function: the session may change
  }

  arrive(parameters, session) {
    return this.call("POST", "/session", { parameters, session });
  }

  questions() {
    return this.call("GET", "/questions");
  }

  about(form, values) {
    return this.call("POST", "/about", { form, values });
  }

  withdraw() {
    return this.call("POST", "/withdraw");
  }

  /** Sends one entry of the outbox; sending it twice does no harm. */
  send({ type, body }, session = this.session()) {
    return this.call("POST", type === "undo" ? "/undo" : "/answers", body, session);
  }

  async call(method, path, body, session = this.session()) {
    const headers = { "content-type": "application/json" };
    if (session) headers.authorization = `Bearer ${session}`;
    let reply;
    try {
      reply = await fetch(this.base + path, {
        method,
        headers,
        body: body && JSON.stringify(body),
        keepalive: true, // a tab closed now still delivers
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
    } catch {
      throw new Problem("", 0, true);
    }
    const content = await reply.json().catch(() => ({}));
    if (reply.ok) return content;
    const temporary = reply.status >= 500 || reply.status === 429 || reply.status === 408;
    throw new Problem(content.detail ?? `${reply.status}`, reply.status, temporary);
  }
}

/** Stands in for the server when an owner looks at a study before anybody is asked: nothing is stored. */
export class PreviewServer {
  constructor(questions, study) {
    Object.assign(this, { all: questions, study, done: 0, filled: new Set() });
  }

  async arrive() {
    return { session: "preview", respondent: "preview", ...this.turn() };
  }

  async questions() {
    return this.turn();
  }

  async about(form) {
    this.filled.add(form);
    return this.turn();
  }

  async withdraw() {}

  async send({ type }) {
    this.done += type === "undo" ? -1 : 1;
    return this.turn();
  }

  turn() {
    const missing = (form) => this.study[form].length > 0 && !this.filled.has(form);
    const questions = missing("before") ? [] : this.all.slice(this.done, this.done + 3);
    const form = missing("before") ? "before" : !questions.length && missing("after") ? "after" : null;
    const finished = !questions.length && !form;
    return { questions, progress: { done: this.done, of: this.all.length }, finished, form, ended: finished ? "done" : null };
  }
}
