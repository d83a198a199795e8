"use strict";
/**
 * Splits chunks into lines. Decodes only whole lines, so chunks may end anywhere, also within a character.
 */
class Lines {
  #pieces = [];

  *take(chunk) {
    let start = 0;
    for (let end; (end = chunk.indexOf(0x0a, start)) >= 0; start = end + 1) {
      this.#pieces.push(chunk.subarray(start, end));
      const line = Buffer.concat(this.#pieces).toString();
      this.#pieces = [];
      yield line;
    }
    if (start < chunk.length) this.#pieces.push(chunk.subarray(start));
  }
}

function frame(message) {
  return Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }, checked) + "\n");
}

/** Refuses what JSON has no word for, and what JSON.stringify would drop or replace by null or {}. */
function checked(name, value) {
  const isNumber = typeof value !== "number" || Number.isFinite(value);
  const isCollection = value instanceof Map || value instanceof Set;
  if (isNumber && !isCollection && !["bigint", "function", "symbol"].includes(typeof value)) return value;
  const kind = isCollection ? value.constructor.name : isNumber ? typeof value : String(value);
  throw new TypeError(`${name} is ${kind}, which is no value of JSON.`);
}

module.exports = { Lines, frame };
