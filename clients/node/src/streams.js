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
 * task that fails destroys its stream.
 */
const { Readable, Writable } = require("node:stream");

const PIECE = 1 << 20; // bytes
const MOST = 4; // requests on their way
const FRAME = 4096; // bytes of a message besides its data

class UploadStream extends Writable {
  #end;
  #isToStay;
  #place;
  #pieceBytes;
  #onTheirWay = new Set();

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

  async #send(bytes) {
    for (let at = 0; at < bytes.length && !this.destroyed; at += this.#pieceBytes) {
      this.#append(bytes.subarray(at, at + this.#pieceBytes));
      if (this.#onTheirWay.size >= MOST) await Promise.race(this.#onTheirWay);
    }
  }

  #append(piece) {
    const answered = this.task._append(piece, this.#place);
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
