"use strict";
const { setTimeout: sleep } = require("node:timers/promises");

const STEP = 500; // milliseconds between two looks at a task while its end is waited for

/** Resolves with the promise, or to true after a while. Leaves no timer, which would keep the program running. */
async function step(promise, milliseconds = STEP) {
  const stop = new AbortController();
  const late = sleep(milliseconds, true, { signal: stop.signal }).catch(() => true);
  try {
    return await Promise.race([promise, late]);
  } finally {
    stop.abort();
  }
}

module.exports = { step };
