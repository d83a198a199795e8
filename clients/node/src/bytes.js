"use strict";
/** The content of an upload: bytes or text, whole or piece by piece. */
const { Readable } = require("node:stream");

/** All bytes, as params. */
function contentOf(data) {
  return typeof data === "string" ? { text: data } : { data: bytesOf(data).toString("base64") };
}

/** What a pipeline takes: a stream of Node, which it destroys when the other end fails, or what can be iterated over. */
function sourceOf(source) {
  if (typeof source === "string" || ArrayBuffer.isView(source) || source instanceof ArrayBuffer) return [source];
  if (source instanceof Blob) return Readable.fromWeb(source.stream());
  if (source instanceof ReadableStream) return Readable.fromWeb(source);
  if (source?.[Symbol.asyncIterator] || source?.[Symbol.iterator]) return source;
  throw new TypeError("What is put must be a stream, a Blob, bytes, a string, or what yields bytes and strings.");
}

/**
 * The pieces of a source, which are checked as they come: a stream may be one of any objects, and one that was read before may
 * have nothing left.
 */
function piecesOf(source) {
  const wasRead = Readable.isDisturbed?.(source);
  return async function* (from) {
    let isEmpty = true;
    for await (const piece of from) {
      isEmpty = false;
      yield typeof piece === "string" ? piece : bytesOf(piece);
    }
    if (isEmpty && wasRead) throw new TypeError("What is put is a stream that has been read to its end before.");
  };
}

function bytesOf(data) {
  if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return Buffer.from(data);
  throw new TypeError("What is put must be bytes or a string.");
}

module.exports = { contentOf, piecesOf, sourceOf };
