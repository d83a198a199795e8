"use strict";
/** Transports: a child process, or a Unix socket. */
const { spawn } = require("node:child_process");
const { once } = require("node:events");
const { connect } = require("node:net");
const { debuglog, getSystemErrorMap } = require("node:util");
const { ServiceGoneError, inNode } = require("./errors.js");
const { socketAddress } = require("./files.js");

const debug = debuglog("storage-rpc");
const FAREWELL = '{"jsonrpc":"2.0","id":0,"method":"shutdown"}\n{"jsonrpc":"2.0","method":"exit"}\n';
/**
 * A service that is asked to end does so within two seconds. A process that continues for `grace` after its output has
 * ended serves others.
 */
const patience = { milliseconds: 3000, grace: 2000 };
const LAST_WORDS = 8192; // characters of stderr that are kept

const wording = (error) => getSystemErrorMap().get(error.errno)?.[1] ?? error.message;
const ignore = () => {};

/**
 * The service as a child process, or one that relays to a shared one, on its stdin and stdout; NODE_DEBUG=storage-rpc
 * shows its stderr.
 */
class Child {
  #process;
  #lastWords = "";
  #timers = [];
  #isOver = false; // the output has ended after the input

  static async start([program, ...args], env, isShared = false) {
    // In a session of its own: Ctrl-C at the terminal interrupts the caller only.
    const child = spawn(program, args, { env, stdio: "pipe", detached: true });
    try {
      await once(child, "spawn");
    } catch (error) {
      const advice = "set STORAGE_RPC to its path, or pass program";
      throw new ServiceGoneError(`The program "${program}" cannot be started: ${wording(error)}; ${advice}.`);
    }
    return new Child(child, isShared);
  }

  constructor(child, isShared) {
    this.#process = child;
    this.isShared = isShared;
    this.input = child.stdin;
    this.output = child.stdout;
    child.on("error", ignore);
    for (const stream of [child.stdout, child.stderr]) stream.on("error", ignore);
    // The service has closed its input: it has ended, or has to be ended.
    child.stdin.on("error", () => this.#insist(1));
    child.stderr.setEncoding("utf8").on("data", (text) => {
      this.#lastWords = (this.#lastWords + text).slice(-LAST_WORDS);
      debug("%s", text.trimEnd());
    });
    this.ended = this.#obituary();
  }

  ref() {
    for (const one of this.#handles) one.ref();
  }

  unref() {
    for (const one of this.#handles) one.unref();
  }

  /**
   * Closes the input: the service ends after its tasks, or, without `drain`, immediately. A shared one continues, but its
   * pending answers may wait for a task for ever.
   */
  hangUp({ drain }) {
    if (drain && this.isShared) this.#insist(1);
    if (drain) return void this.input.end();
    const canSay = this.input.writable;
    if (canSay) this.input.end(FAREWELL);
    this.#insist(canSay ? 1 : 0);
  }

  /** Ends the process immediately, without waiting for writes. */
  breakOff() {
    this.#insist(0);
  }

  get #handles() {
    const { stdin, stdout, stderr } = this.#process;
    return [this.#process, stdin, stdout, stderr];
  }

  /** Sends SIGTERM after so many rounds of `patience`, and SIGKILL one round later. */
  #insist(first) {
    if (this.#isOver) return;
    for (const [signal, rounds] of [["SIGTERM", first], ["SIGKILL", first + 1]]) {
      this.#timers.push(setTimeout(() => this.#process.kill(signal), rounds * patience.milliseconds).unref());
    }
  }

  /**
   * Resolves to the error for the end of the output, at the latest `grace` after the first sign of it. A process that goes
   * on is left alone if its input was closed first.
   */
  async #obituary() {
    const child = this.#process;
    const closed = new Promise((resolve) => child.once("close", resolve));
    await new Promise((resolve) => [child.once("exit", resolve), child.stdout.once("close", resolve)]);
    this.#isOver = child.stdin.writableEnded;
    if (this.#isOver) this.#timers.forEach(clearTimeout);
    const late = new Promise((resolve) => this.#timers.push(setTimeout(resolve, patience.grace).unref()));
    await Promise.race([closed, late]);
    if (child.exitCode === null && child.signalCode === null) this.#insist(0);
    else this.#timers.forEach(clearTimeout);
    for (const stream of child.stdio) stream.destroy();
    return this.#describe(child.exitCode, child.signalCode);
  }

  #describe(exitCode, signal) {
    const stderr = this.#lastWords.split("\n").filter(Boolean).slice(-10);
    const end = exitCode === null ? "has closed its output" : `ended with status ${exitCode}`;
    const how = signal ? `was ended by ${signal}` : end;
    const last = stderr.length ? `: ${inNode(stderr.join("\n"))}` : ".";
    return new ServiceGoneError(`The service ${how}${last}`, { exitCode, signal, stderr });
  }
}

/** A service on a Unix socket; the service and its tasks outlive the session. */
class Socket {
  isShared = true;
  #socket;

  static async connect(path) {
    let place;
    try {
      place = socketAddress(path);
      const socket = connect(place.address);
      await once(socket, "connect");
      return new Socket(socket);
    } catch (error) {
      throw new ServiceGoneError(`No service can be reached at ${path}: ${wording(error)}.`);
    } finally {
      place?.close();
    }
  }

  constructor(socket) {
    this.#socket = this.input = this.output = socket;
    socket.on("error", ignore);
    const closed = new Promise((resolve) => socket.once("close", resolve));
    this.ended = closed.then(() => new ServiceGoneError("The service has closed the connection."));
  }

  ref() {
    this.#socket.ref();
  }

  unref() {
    this.#socket.unref();
  }

  /** The service sends the pending answers, but these may wait for a task for ever. */
  hangUp({ drain }) {
    if (!drain) return this.breakOff();
    this.#socket.end();
    const timer = setTimeout(() => this.breakOff(), patience.milliseconds).unref();
    this.#socket.once("close", () => clearTimeout(timer));
  }

  breakOff() {
    this.#socket.destroy();
  }
}

module.exports = { Child, Socket, patience };
