"use strict";
/**
 * The core of the client: one session, from its transport to its end.
 *
 *     open     transport starts or finds the service; initialize ─▶ limits, default bucket
 *     request  caller ── request ─▶ line ─▶ unsent ─▶ service
 *     result   caller ◀─ promise ◀─ then ◀─ take ◀─── service
 *     event    take ─▶ hear(method, params), in order ─▶ observers of the task ─▶ callbacks
 *     asked    take ─▶ reply(method, params) ─▶ line
 *     close    end of input, or shutdown and exit ─▶ end of output ─▶ fails pending requests and tasks
 *
 * `then` runs before the next line is read: so an observer is registered before its first event.
 */
const { debuglog } = require("node:util");
const { ServiceGoneError, StorageError, errorOfAnswer } = require("./errors.js");
const { Lines, frame } = require("./framing.js");
const { onAbort } = require("./signals.js");

const debug = debuglog("storage-rpc");

class Connection {
  maxMessageBytes = Infinity;
  /** That of the service, once it has greeted. */
  serviceVersion;
  #transport;
  #listener;
  #lines = new Lines();
  #pending = new Map();
  #unsent = new Set();
  #isBlocked = false;
  #number = 0;
  #holds = 0;
  #isClosing = false;
  #trouble = null;
  #obituary = null;
  #ended;

  /**
   * Calls `hear` for each notification; `reply` for each request, which returns the result or a promise of it; and
   * `lose` once, after the last of them.
   */
  constructor(transport, { hear, reply, lose }) {
    this.#transport = transport;
    this.#listener = { hear, reply, lose };
    transport.output.on("data", (chunk) => this.#read(chunk));
    transport.input.on("drain", () => this.#send(false));
    this.#ended = transport.ended.then((obituary) => this.#end(obituary));
    transport.unref();
  }

  /** Resolves to `then(result)`. While it is pending, Node's event loop keeps running. */
  request(method, params = {}, { signal, then = (result) => result } = {}) {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.#obituary) throw this.#obituary;
      if (this.#isClosing) throw new ServiceGoneError("The session is closed.");
      const id = this.#number + 1;
      const unsent = { line: this.#frame({ id, method, params }) };
      this.#number = id;
      const abort = () => {
        this.#settle(id);
        if (!this.#unsent.delete(unsent)) this.#write({ line: frame({ method: "$/cancelRequest", params: { id } }) });
        reject(signal.reason);
      };
      this.#pending.set(id, { method, resolve, reject, then, done: onAbort(signal, abort) });
      this.hold();
      this.#write(unsent);
    });
  }

  /** Keeps Node's event loop running until the matching `release`. */
  hold() {
    if (this.#holds++ === 0) this.#transport.ref();
  }

  release() {
    if (--this.#holds === 0) this.#transport.unref();
  }

  /** Ends the session and the child process: after its tasks, or, without `drain`, immediately. Resolves after its end. */
  async close({ drain = true } = {}) {
    this.#isClosing = true;
    this.hold();
    if (!drain) this.#unsent.clear();
    if (!drain || !this.#unsent.size) this.#transport.hangUp({ drain });
    await this.#ended;
    this.release();
  }

  #frame(message) {
    const line = frame(message);
    if (line.length <= this.maxMessageBytes) return line;
    const sizes = `${line.length} bytes is longer than the ${this.maxMessageBytes} bytes that the service takes`;
    throw new StorageError(`A message of ${sizes}; putFile has no such limit.`, -32600);
  }

  #write(unsent) {
    if (this.#obituary || !this.#transport.input.writable) return;
    this.#unsent.add(unsent);
    this.#send(this.#isBlocked);
  }

  /** Writes until the input is full; continues when it drains. */
  #send(isBlocked) {
    this.#isBlocked = isBlocked;
    for (const unsent of this.#unsent) {
      if (this.#isBlocked) return;
      this.#unsent.delete(unsent);
      this.#isBlocked = !this.#transport.input.write(unsent.line);
      if (this.#isClosing && !this.#unsent.size) this.#transport.hangUp({ drain: true });
    }
  }

  #read(chunk) {
    for (const line of this.#lines.take(chunk)) {
      if (this.#trouble || this.#obituary) return;
      if (!line.trim()) continue;
      try {
        this.#take(JSON.parse(line));
      } catch {
        this.#trouble = `What the service said is no message: ${line.slice(0, 100)}`;
        this.#transport.breakOff();
      }
    }
  }

  #take(message) {
    if (typeof message !== "object" || message === null || Array.isArray(message)) throw new TypeError();
    const { id, method, params, error } = message;
    if (method !== undefined && id === undefined) return this.#notice(method, params);
    if (method !== undefined) return void this.#serve(id, method, params);
    const waiting = this.#settle(id);
    if (waiting) this.#answer(waiting, message);
    else if (error && id == null) debug("The service could not use a message: %s", error.message);
  }

  #answer({ method, resolve, reject, then }, { result, error }) {
    try {
      if (error) throw errorOfAnswer(method, error, this.serviceVersion);
      resolve(then(result));
    } catch (trouble) {
      reject(trouble);
    }
  }

  /** Removes and returns the pending request with this id. */
  #settle(id) {
    const waiting = this.#pending.get(id);
    if (!waiting) return undefined;
    this.#pending.delete(id);
    waiting.done();
    this.release();
    return waiting;
  }

  #notice(method, params) {
    try {
      this.#listener.hear(method, params);
    } catch (error) {
      debug("A notification could not be understood: %s: %s", method, error);
    }
  }

  async #serve(id, method, params) {
    let line;
    try {
      line = this.#frame({ id, result: (await this.#listener.reply(method, params)) ?? null });
    } catch (error) {
      const isKnown = error instanceof StorageError && error.reason === "methodNotFound";
      if (!isKnown) process.emitWarning(`${method} failed in the client: ${error?.name}`, "StorageRPCWarning");
      const message = isKnown ? error.message : `${method} failed in the client.`;
      line = frame({ id, error: { code: isKnown ? error.code : -32603, message } });
    }
    this.#write({ line });
  }

  #end(obituary) {
    const why = this.#trouble ?? (this.#isClosing ? "The session is closed." : obituary.message);
    this.#obituary = new ServiceGoneError(why, obituary);
    this.#unsent.clear();
    for (const id of [...this.#pending.keys()]) this.#settle(id).reject(this.#obituary);
    this.#listener.lose(this.#obituary);
  }
}

module.exports = { Connection };
