"use strict";
const listeners = new WeakMap();

/**
 * Calls back once when the signal is aborted; returns a function that prevents it. All callbacks of a signal share one
 * listener, because Node warns of more than ten.
 */
function onAbort(signal, callback) {
  if (!signal || signal.aborted) return () => {};
  const callbacks = listeners.get(signal) ?? new Set();
  if (!callbacks.size) {
    const abort = () => [...callbacks].forEach((one) => one());
    callbacks.forget = () => signal.removeEventListener("abort", abort);
    listeners.set(signal, callbacks);
    signal.addEventListener("abort", abort, { once: true });
  }
  const own = () => callback();
  callbacks.add(own);
  return () => {
    if (callbacks.delete(own) && !callbacks.size) callbacks.forget();
  };
}

module.exports = { onAbort };
