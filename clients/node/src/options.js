"use strict";
/** The options of the client's methods. */

/**
 * The options of a method, of which there may only be those of these names: an unknown one, such as a misspelled precondition, would
 * be dropped silently. `advice` is what else the error says of an unknown name.
 */
function optionsOf(method, options = {}, names, advice = () => undefined) {
  method = method.split(/[/.]/).at(-1);
  if (options instanceof AbortSignal) throw new TypeError(`${method} takes a signal as { signal }.`);
  if (typeof options !== "object" || options === null) throw new TypeError(`The options of ${method} must be an object.`);
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return checked(method, options);
  const similar = names.find((name) => isSimilar(name, unknown));
  const remedy = similar ? `did you mean ${similar}?` : advice(unknown) ?? `it has ${names.join(", ")}.`;
  throw new TypeError(`${method} has no option ${unknown}; ${remedy}`);
}

/** The options, none of which may have a value that could only be dropped. */
function checked(method, options) {
  const big = Object.keys(options).find((name) => typeof options[name] === "bigint");
  if (big !== undefined) throw new TypeError(`The option ${big} of ${method} is a BigInt; give its digits as a string.`);
  const { signal } = options;
  if (signal != null && typeof signal.addEventListener !== "function") {
    throw new TypeError(`The option signal of ${method} must be an AbortSignal.`);
  }
  return options;
}

/** A callback, or undefined. */
function callbackOf(name, callback) {
  if (callback == null || typeof callback === "function") return callback ?? undefined;
  throw new TypeError(`${name} must be a function.`);
}

/** The value, which must be a string. */
function textOf(value, what) {
  if (typeof value === "string") return value;
  throw new TypeError(`${what} is a string, not ${value === null ? "null" : typeof value}.`);
}

/** Whether one may be a misspelling of the other. */
function isSimilar(name, other) {
  const [a, b] = [name, other].map((one) => one.replaceAll(/[-_]/g, "").toLowerCase());
  return distance(a, b) <= Math.min(2, Math.floor(a.length / 3));
}

/** How many characters have to be inserted, removed or replaced. */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [index, character] of [...a].entries()) {
    const next = [index + 1];
    for (let at = 0; at < b.length; at++) {
      next.push(Math.min(row[at + 1] + 1, next[at] + 1, row[at] + (b[at] === character ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length];
}

module.exports = { callbackOf, optionsOf, textOf };
