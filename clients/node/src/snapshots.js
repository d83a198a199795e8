/** How snapshots reach those who listen. */

/** What a callback throws is an uncaught exception, as with any emitter; but the reader goes on. */
export function tell(callback) {
  try {
    callback();
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
  }
}

/** The snapshots that an iteration has yet to see; while it is busy, progress collapses to the newest. */
export class Snapshots {
  #waiting = [];
  #wake = () => {};

  push(snapshot) {
    if (this.#waiting.at(-1)?.status === "progress" && snapshot.status === "progress") this.#waiting.pop();
    this.#waiting.push(snapshot);
    this.#wake();
  }

  /** Ends with success, throws why the task failed. */
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
