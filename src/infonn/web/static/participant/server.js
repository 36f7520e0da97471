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
  constructor(questions) {
    this.all = questions;
    this.done = 0;
  }

  async arrive() {
    return { session: "preview", respondent: "preview", ...this.turn() };
  }

  async questions() {
    return this.turn();
  }

  async send({ type }) {
    this.done += type === "undo" ? -1 : 1;
    return this.turn();
  }

  turn() {
    const questions = this.all.slice(this.done, this.done + 3);
    return { questions, progress: { done: this.done, of: this.all.length }, finished: !questions.length };
  }
}
