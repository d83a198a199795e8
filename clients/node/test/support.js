/** What the tests share: a service with a directory of its own, files to upload, and services that are not one. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Storage } from "../index.js";
import { patience } from "../src/transport.js";

export const program = process.env.STORAGE_RPC_PROGRAM ?? process.env.STORAGE_RPC;
export const MIB = 1 << 20;
export const PATIENCE = 60_000; // milliseconds; a safety net, never a measure
const INDEX = fileURLToPath(new URL("../index.js", import.meta.url));
const HELLO = `
const lines = require("readline").createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const next = async () => JSON.parse((await lines.next()).value);
const line = (message) => JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n";
const say = (message) => process.stdout.write(line(message));
(async () => {
  say({ id: (await next()).id, result: { server: { name: "storage-rpc", version: "0.0.9" }, defaultBucket: "b", limits: { maxMessageBytes: 1 << 20 } } });
`;

/** A test with a directory and sessions of its own, all gone when it ends. */
export function check(name, body) {
  const skip = program ? false : "STORAGE_RPC does not name the program";
  test(name, { skip, timeout: PATIENCE }, async (t) => {
    const room = new Room(await mkdtemp(join(tmpdir(), "storage-rpc-")));
    t.after(() => room.leave());
    await body(room, t);
  });
}

class Room {
  #sessions = [];
  #processes = [];

  constructor(directory) {
    this.directory = directory;
    this.root = join(directory, "root");
  }

  async leave() {
    for (const one of this.#processes) one.kill("SIGKILL");
    await this.#stopShared();
    await Promise.all(this.#sessions.map((one) => one.close({ drain: false })));
    // The service of a program that was killed may end a moment later, and still write into its root.
    await rm(this.directory, { recursive: true, force: true, maxRetries: 50 });
  }

  keep(storage) {
    this.#sessions.push(storage);
    return storage;
  }

  async spawn(options = {}) {
    return this.keep(await Storage.spawn({ program, args: ["--harness", "--root", this.root], ...options }));
  }

  /** A session with the service that all clients of the root share. */
  async share() {
    this.isShared = true;
    return this.spawn({ shared: true, args: ["--root", this.root] });
  }

  /** The service in the background, so that nothing is left in the root. */
  async #stopShared() {
    if (!this.isShared) return;
    const storage = await this.share();
    const id = await pid(storage);
    await storage.request("service/stop");
    await gone(id);
  }

  /** A service that greets, then runs the given code. */
  async fake(body, options = {}) {
    const args = ["-e", `${HELLO}${body}})()`];
    return this.keep(await Storage.spawn({ program: process.execPath, args, ...options }));
  }

  /** The socket of a service that runs until the test ends. */
  async serve() {
    const path = join(this.directory, "socket");
    const args = ["serve", "--harness", "--stdio", "--socket", path, "--root", this.root];
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"] });
    this.#processes.push(child);
    // Its answer on stdout means that it listens: the socket is opened before stdin is read.
    child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"service/ping"}\n');
    await once(child.stdout, "data");
    return path;
  }

  async connect(path, options) {
    return this.keep(await Storage.connect(path, options));
  }

  async file(name, content) {
    const path = join(this.directory, name);
    await writeFile(path, content);
    return path;
  }

  /** A file of many chunks, which takes no room on the disk. */
  async largeFile(size = 3 * MIB) {
    const path = join(this.directory, "large.bin");
    const file = await open(path, "w");
    await file.truncate(size);
    await file.close();
    return path;
  }

  /** An upload that is held after its first MiB, until `harness/disarm`, and all events so far were sent. */
  async running(storage, options = {}) {
    await storage.updateSettings({ uploadChunkSizeBytes: 256 << 10 });
    await holdAt(storage, MIB);
    const task = storage.reference("large").putFile(await this.largeFile(), options);
    await storage.request("harness/settled");
    return task;
  }

  /** A program of its own that has a session, `storage`, and what it left behind. */
  async run(body, options = {}) {
    const child = this.start(body, options);
    let output = "";
    child.stdout.on("data", (chunk) => (output += chunk));
    child.stderr.on("data", (chunk) => (output += chunk));
    const [status, signal] = await once(child, "close");
    return { status, signal, output };
  }

  start(body, { socket, ...options } = {}) {
    const [way, given] = socket ? ["connect", socket] : ["spawn", { program, args: ["--harness", "--root", this.root] }];
    const session = `await Storage.${way}(${JSON.stringify(given)})`;
    const opening = `import { Storage } from ${JSON.stringify(INDEX)}; const storage = ${session};`;
    const code = `${opening}\n${body}`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], options);
    this.#processes.push(child);
    return child;
  }
}

/** Lets a test wait for a service that does not end: by default shorter than a user. */
export function impatient(t, other = { milliseconds: 50, grace: 50 }) {
  const usual = { ...patience };
  t.after(() => Object.assign(patience, usual));
  Object.assign(patience, other);
}

/** Each upload stops before that byte, however often it comes there, until `harness/disarm`. */
export async function holdAt(storage, byte) {
  await storage.request("harness/arm", { on: "send", at: byte, times: null, rule: "held", do: { hold: true } });
}

export async function pid(storage) {
  return (await storage.request("service/status")).pid;
}

/** Resolves when the process has ended, even if it has not been reaped yet. */
export async function gone(id) {
  while (await isThere(id)) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function isThere(id) {
  const state = await readFile(`/proc/${id}/stat`, "utf8").catch(() => ") X");
  return !/\) [XZ]/.test(state);
}

export const statuses = (snapshots) => snapshots.map((one) => one.status);

/** The events without neighbours of the same kind. */
export const course = (snapshots) => statuses(snapshots).filter((one, index, all) => one !== all[index - 1]);

export const STATUSES = ["resume", "progress", "pause", "success", "failure"];

export function hearing(task) {
  const heard = [];
  for (const status of STATUSES) task.on(status, (snapshot) => heard.push(snapshot));
  return heard;
}

