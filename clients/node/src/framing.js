/**
 * Splits chunks into lines. Decodes only whole lines, so chunks may end anywhere, also within a character.
 */
export class Lines {
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

export function frame(message) {
  return Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
}
