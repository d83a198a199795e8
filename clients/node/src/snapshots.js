"use strict";
/** An exception of a callback becomes uncaught, as with any emitter, but the reader continues. */
function tell(callback) {
  try {
    callback();
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
  }
}

/** The pending snapshots of an iteration; of successive progress snapshots only the newest is kept. */
class Snapshots {
  #waiting = [];
  #wake = () => {};

  push(snapshot) {
    if (this.#waiting.at(-1)?.status === "progress" && snapshot.status === "progress") this.#waiting.pop();
    this.#waiting.push(snapshot);
    this.#wake();
  }

  /** Ends after success, throws the error after failure. */
  async *read() {
    for (;;) {
      if (!this.#waiting.length) await new Promise((resolve) => (this.#wake = resolve));
      const snapshot = this.#waiting.shift();
      yield snapshot;
      if (snapshot.status === "failure") throw snapshot.error;
      if (snapshot.status === "success") return;
    }
  }
}

module.exports = { Snapshots, tell };
