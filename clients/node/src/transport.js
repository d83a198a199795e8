/** Ways to reach the service: as a child process, or on a Unix socket. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { debuglog, getSystemErrorMap } from "node:util";
import { ServiceGoneError } from "./errors.js";

const debug = debuglog("storage-rpc");
const FAREWELL = '{"jsonrpc":"2.0","id":0,"method":"shutdown"}\n{"jsonrpc":"2.0","method":"exit"}\n';
const PATIENCE = 3000; // milliseconds; a service that is told to end does so within two seconds
const LAST_WORDS = 8192; // characters of stderr that are kept

const wording = (error) => getSystemErrorMap().get(error.errno)?.[1] ?? error.message;
const ignore = () => {};

/**
 * The service as a child process, or one that relays to a shared one, on its stdin and stdout; NODE_DEBUG=storage-rpc
 * shows its stderr.
 */
export class Child {
  #process;
  #lastWords = "";
  #timers = [];

  static async start([program, ...args], env, isShared = false) {
    // In a session of its own: Ctrl-C at the terminal is for the caller, who decides what it means.
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
    // The other end is gone: so is the process, or else it must go.
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
   * Ends the input: the service ends when its tasks have, or at once. One that is shared goes on; but some of what it
   * answers before may wait for a task, without end.
   */
  hangUp({ drain }) {
    if (drain && this.isShared) this.#insist(1);
    if (drain) return void this.input.end();
    const canSay = this.input.writable;
    if (canSay) this.input.end(FAREWELL);
    this.#insist(canSay ? 1 : 0);
  }

  /** Waits for nothing, not even for what is being written. */
  breakOff() {
    this.#insist(0);
  }

  get #handles() {
    const { stdin, stdout, stderr } = this.#process;
    return [this.#process, stdin, stdout, stderr];
  }

  /** Terminates it after so much patience, and kills it after as much again and once more. */
  #insist(patience) {
    for (const [signal, rounds] of [["SIGTERM", patience], ["SIGKILL", patience + 1]]) {
      this.#timers.push(setTimeout(() => this.#process.kill(signal), rounds * PATIENCE).unref());
    }
  }

  /** Why there is nothing more to read: once all streams are closed, or none too long after the first sign of it. */
  async #obituary() {
    const child = this.#process;
    const closed = new Promise((resolve) => child.once("close", resolve));
    await new Promise((resolve) => [child.once("exit", resolve), child.stdout.once("close", resolve)]);
    const patience = new Promise((resolve) => this.#timers.push(setTimeout(resolve, PATIENCE).unref()));
    await Promise.race([closed, patience]);
    if (child.exitCode === null && child.signalCode === null) this.#insist(0);
    else this.#timers.forEach(clearTimeout);
    for (const stream of child.stdio) stream.destroy();
    return this.#describe(child.exitCode, child.signalCode);
  }

  #describe(exitCode, signal) {
    const stderr = this.#lastWords.split("\n").filter(Boolean).slice(-10);
    const end = exitCode === null ? "has closed its output" : `ended with status ${exitCode}`;
    const how = signal ? `was ended by ${signal}` : end;
    const last = stderr.length ? `: ${stderr.join("\n")}` : ".";
    return new ServiceGoneError(`The service ${how}${last}`, { exitCode, signal, stderr });
  }
}

/** A service that listens on a Unix socket; it, and the tasks in it, outlive the session. */
export class Socket {
  isShared = true;
  #socket;

  static async connect(path) {
    const socket = connect(path);
    try {
      await once(socket, "connect");
    } catch (error) {
      throw new ServiceGoneError(`No service can be reached at ${path}: ${wording(error)}.`);
    }
    return new Socket(socket);
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

  /** The service answers what is pending; but some of it may wait for a task, without end. */
  hangUp({ drain }) {
    if (!drain) return this.breakOff();
    this.#socket.end();
    const timer = setTimeout(() => this.breakOff(), PATIENCE).unref();
    this.#socket.once("close", () => clearTimeout(timer));
  }

  breakOff() {
    this.#socket.destroy();
  }
}
