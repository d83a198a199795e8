"use strict";
/** The changes of objects, as they happen. */

const MOST = 10_000; // that wait for a slow reader

class Changes {
  #session;
  #reference;
  #handle;
  #waiting = [];
  #wake = () => {};
  #error;
  #isClosed = false;
  #signal;

  constructor(session, reference, signal) {
    this.#session = session;
    this.#reference = reference;
    this.#signal = signal;
  }

  /** Asks for the changes. From the answer on none is missed. */
  async open() {
    const then = ({ handle }) => {
      this.#handle = handle;
      this.#session.follow(handle, this);
    };
    await this.#session.request("storage/observe", { reference: this.#reference.toJSON() }, { signal: this.#signal, then });
    return this;
  }

  async *read() {
    try {
      for (;;) {
        this.#signal?.throwIfAborted();
        if (!this.#waiting.length && !this.#error) await this.#news();
        this.#signal?.throwIfAborted();
        if (this.#waiting.length) yield this.#waiting.shift();
        else if (this.#error) throw this.#error;
      }
    } finally {
      await this.close();
    }
  }

  async close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#session.unfollow(this.#handle);
    if (!this.#error) await this.#session.request("storage/removeObserver", { handle: this.#handle }).catch(() => {});
  }

  /** Returns when something has happened, or the signal aborts. The event loop runs meanwhile. */
  async #news() {
    this.#session.hold();
    let wake;
    try {
      await new Promise((resolve) => {
        this.#wake = wake = resolve;
        this.#signal?.addEventListener("abort", resolve, { once: true });
      });
    } finally {
      this.#signal?.removeEventListener("abort", wake);
      this.#session.release();
    }
  }

  // Used by the session

  push({ change, reference, generation, metageneration }) {
    if (this.#waiting.length >= MOST) {
      this.#waiting = [{ change: "missed", reference: this.#reference }];
    } else {
      const place = this.#session.reference(reference);
      this.#waiting.push(change === "missed" ? { change, reference: place } : { change, reference: place, generation, metageneration });
    }
    this.#wake();
  }

  fail(error) {
    this.#error = error;
    this.#wake();
  }
}

module.exports = { Changes };
