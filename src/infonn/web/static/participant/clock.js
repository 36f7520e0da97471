// Response times: from the paint of a question, its images included, to the choice.

export const SHORTEST_LOOK_MS = 150; // nobody sees and chooses faster: the second half of a double click does not count

/** Resolves just after the next frame is on the screen, with the time. */
export function painted() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => {
      const channel = new MessageChannel(); // its message comes after the frame was drawn
      channel.port1.onmessage = () => resolve(performance.now());
      channel.port2.postMessage(null);
    });
  });
}

export class Clock {
  constructor() {
    this.start = null;
    document.addEventListener("visibilitychange", () => this.look());
    addEventListener("blur", () => (this.blurs += 1));
  }

  /** The question is on the screen since `start`. */
  begin(start) {
    Object.assign(this, { start, hiddenTimes: 0, hiddenMs: 0, blurs: 0, hiddenAt: document.hidden ? start : null });
  }

  stop() {
    this.start = null;
  }

  look() {
    if (this.start === null) return;
    const now = performance.now();
    if (document.hidden) {
      this.hiddenTimes += 1;
      this.hiddenAt = now;
    } else if (this.hiddenAt !== null) {
      this.hiddenMs += now - this.hiddenAt;
      this.hiddenAt = null;
    }
  }

  /** Seconds since the paint, and what happened meanwhile. */
  read(at) {
    return {
      seconds: Math.max(0, at - this.start) / 1000,
      hidden_times: this.hiddenTimes,
      hidden_s: Math.round(this.hiddenMs) / 1000,
      blurs: this.blurs,
    };
  }
}

export function deviceClass() {
  const touch = matchMedia("(pointer: coarse)").matches;
  if (!touch) return "desktop";
  return Math.min(screen.width, screen.height) < 600 ? "phone" : "tablet";
}
