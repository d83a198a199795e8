"use strict";
/**
 * The ends of uploads and downloads that are streams of Node.
 *
 *     UploadStream     write ─▶ pieces ─▶ append, a few on their way ─▶ finish ─▶ end of the task
 *     DownloadStream   read ─▶ push, until the reader is highWaterMark behind
 *                      readAt ─▶ reads that say where they begin, a few on their way
 *
 * The service answers an append when it has taken the bytes; while too many have no answer, the stream takes no more: that
 * is the back pressure. A stream that is destroyed cancels its task, except one that continues an earlier upload, and a
 * task that fails destroys its stream. The end of the session destroys it, too, as `destroy()` without an error does: only a
 * download that is being read fails, since its reader would take the bytes so far for all.
 */
const { Readable, Writable } = require("node:stream");
const { step } = require("./steps.js");
const { patience } = require("./transport.js");

const PIECE = 1 << 20; // bytes
const MOST = 4; // requests on their way
const FRAME = 4096; // bytes of a message besides its data
const NO_BYTES = Buffer.alloc(0);

class UploadStream extends Writable {
  #end;
  #isToStay;
  #place;
  #pieceBytes;
  #onTheirWay = new Set();
  #left = new AbortController();

  /** `offset` is where in the object the first bytes are, if it continues an upload. */
  constructor(task, { maxMessageBytes, offset, md5Hash, isToStay = false }) {
    super({ highWaterMark: PIECE });
    this.#place = offset === undefined ? {} : { offset };
    this.#isToStay = isToStay;
    this.#end = md5Hash === undefined ? {} : { md5Hash };
    const longest = Math.floor(((maxMessageBytes - FRAME) / 4) * 3); // in base64
    this.#pieceBytes = Math.max(1, Math.min(PIECE, longest));
    this.task = task;
    task.on("failure", ({ error }) => this.destroy(error));
  }

  _construct(callback) {
    this.task.started().then(() => callback(), callback);
  }

  _write(chunk, encoding, callback) {
    this.#send(chunk).then(() => callback(), callback);
  }

  /** What was written meanwhile goes together. */
  _writev(chunks, callback) {
    this.#send(Buffer.concat(chunks.map(({ chunk }) => chunk))).then(() => callback(), callback);
  }

  _final(callback) {
    this.#finish().then(() => callback(), callback);
  }

  _destroy(error, callback) {
    if (!this.#isToStay) this.task._abandon(error ?? undefined);
    callback(error);
  }

  // Used by the session

  /**
   * Ends the stream, but not its task. With `drain`, first waits until the service has taken what was written, and, after
   * `end`, has stored it. A paused task would not take it before it is resumed: its appends are cancelled. A test that
   * holds them, as with a harness it may, is not waited for.
   */
  async _leave({ drain, mayBeHeld, reason }) {
    if (drain) await (mayBeHeld ? step(this.#drain(), patience.milliseconds) : this.#drain());
    this.#isToStay = true;
    this.destroy();
    if (drain && !mayBeHeld) this.#left.abort(reason);
  }

  async #drain() {
    const flushed = this.#flushed().then(() => false);
    for (let waits = true; waits; ) {
      waits = (await this.task._moves({ streams: true }).catch(() => false)) && (await step(flushed));
    }
  }

  async #flushed() {
    if (this.destroyed) return;
    while (this.writableCorked) this.uncork();
    await new Promise((resolve) => (this.writableEnded ? this.once("close", resolve) : this.write(NO_BYTES, resolve)));
    await Promise.allSettled(this.#onTheirWay);
  }

  async #send(bytes) {
    for (let at = 0; at < bytes.length && !this.destroyed; at += this.#pieceBytes) {
      this.#append(bytes.subarray(at, at + this.#pieceBytes));
      if (this.#onTheirWay.size >= MOST) await Promise.race(this.#onTheirWay);
    }
  }

  #append(piece) {
    const answered = this.task._append(piece, { ...this.#place, signal: this.#left.signal });
    this.#place = {};
    this.#onTheirWay.add(answered);
    const done = () => this.#onTheirWay.delete(answered);
    answered.then(done, (error) => this.destroy(error));
  }

  async #finish() {
    await Promise.all(this.#onTheirWay);
    await this.task._finish(this.#end);
    await this.task.wait();
  }
}

class DownloadStream extends Readable {
  /** Whether all bytes match the checksum of the object; undefined before the end. */
  verified;
  #isAtEnd = false;
  /** The promise of the size of the object, once that was asked for. */
  #size;

  constructor(task) {
    super({ highWaterMark: 2 * PIECE });
    this.task = task;
    task.on("failure", ({ error }) => this.destroy(error));
  }

  _construct(callback) {
    this.task.started().then(() => callback(), callback);
  }

  _read() {
    this.task._read().then((piece) => this.#take(piece), (error) => this.destroy(error));
  }

  _destroy(error, callback) {
    if (!this.#isAtEnd) this.task._abandon(error ?? undefined);
    callback(error);
  }

  /** Used by the session: ends the stream, but not its task. One that is being read ends with the session, with its error. */
  async _leave() {
    if (this.readableDidRead || this.readableFlowing !== null) return;
    this.#isAtEnd = true;
    this.destroy();
  }

  /** The number of bytes of the object. */
  async size() {
    if (this.#size === undefined) {
      this.on("error", () => {}); // The promises have it.
      this.#size = this.task._read({ offset: 0, length: 0 }).then(({ size }) => size);
      this.#size.catch(() => (this.#size = undefined));
    }
    return this.#size;
  }

  /** The bytes from `offset` on: `length` of them, or fewer where the object ends before. */
  async readAt(offset, length) {
    for (const [name, value] of Object.entries({ offset, length })) {
      if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${name} must be a whole number of bytes, not ${value}.`);
    }
    const end = Math.min(await this.size(), offset + length);
    if (end <= offset) return Buffer.alloc(0);
    const bytes = Buffer.alloc(end - offset);
    let next = offset;
    const work = async () => {
      while (next < end) {
        const at = next;
        next = Math.min(end, at + PIECE);
        await this.#fill(bytes.subarray(at - offset, next - offset), at);
      }
    };
    await Promise.all(Array.from({ length: MOST }, work));
    return bytes;
  }

  /** The service may answer less than is asked. */
  async #fill(bytes, offset) {
    for (let count = 0; count < bytes.length; ) {
      const { data } = await this.task._read({ offset: offset + count, length: bytes.length - count });
      if (data.length === 0) throw new Error(`The service has answered no bytes from ${offset + count} on.`);
      bytes.set(data, count);
      count += data.length;
    }
  }

  #take({ data, isEnd, verified }) {
    if (this.destroyed) return;
    this.#isAtEnd = isEnd;
    if (isEnd) this.verified = verified;
    this.push(data);
    if (isEnd) this.push(null);
  }
}

module.exports = { DownloadStream, UploadStream };
