"use strict";
/** The entry point: a session with a service. */
const { existsSync } = require("node:fs");
const { join } = require("node:path");
const { StorageMethods } = require("./methods.js");
const { StorageError } = require("./errors.js");
const { callbackOf, optionsOf, textOf } = require("./options.js");
const { Session } = require("./session.js");
const { DownloadTask, FolderTask, UploadTask } = require("./task.js");
const { Child, Socket } = require("./transport.js");
const { isURL, serverOf } = require("./url.js");

const SESSION_OPTIONS = ["bucket", "pausesTasks", "onRefreshToken"];
const SPAWN_OPTIONS = ["program", "engine", "endpoint", "args", "env", "shared", ...SESSION_OPTIONS];
const ENGINES = ["embedded", "firebase", "gcs", "s3"];
const PAGE_OPTIONS = ["maxResults", "signal"];

const flag = () => 'a flag of the service goes into args, as in args: ["--root", "objects"].';

/** The program of a package that brings it. */
function bundled() {
  const path = join(__dirname, "../bin/storage-rpc");
  return existsSync(path) ? path : undefined;
}

/** The words of the command that starts a service, or connects to the shared one. */
function words(program, { engine, endpoint, args = [], shared = false }) {
  if (engine !== undefined && !ENGINES.includes(engine)) {
    throw new TypeError(`There is no engine ${engine}; there are ${ENGINES.join(", ")}.`);
  }
  const flags = Object.entries({ "--engine": engine, "--endpoint": endpoint }).filter(([, value]) => value !== undefined);
  return [program, ...(shared ? ["connect"] : []), ...flags.flat(), ...args];
}

class Storage extends StorageMethods {
  #session;

  static async spawn(options) {
    callbackOf("onRefreshToken", options?.onRefreshToken);
    const { program, env = {}, ...given } = optionsOf("spawn", options, SPAWN_OPTIONS, flag);
    const environment = { ...process.env, ...env };
    const command = words(program ?? (environment.STORAGE_RPC || bundled() || "storage-rpc"), given);
    return Storage.#open(await Child.start(command, environment, given.shared), given, serverOf(command));
  }

  static async connect(socketPath, options) {
    const session = optionsOf("connect", options, SESSION_OPTIONS);
    callbackOf("onRefreshToken", session.onRefreshToken);
    if (typeof socketPath !== "string") throw new TypeError("connect takes the path of a socket.");
    return Storage.#open(await Socket.connect(socketPath), session);
  }

  static async #open(transport, { bucket, pausesTasks = !transport.isShared, onRefreshToken }, server) {
    const storage = new Storage();
    storage.#session = new Session(transport, onRefreshToken, server);
    await storage.#session.open(bucket, pausesTasks);
    return storage;
  }

  get defaultBucket() {
    return this.#session.defaultBucket;
  }

  get onRefreshToken() {
    return this.#session.onRefreshToken;
  }

  set onRefreshToken(callback) {
    this.#session.onRefreshToken = callback;
  }

  reference(pathOrURL = "", options) {
    const { bucket } = optionsOf("reference", options, ["bucket"]);
    if (!isURL(textOf(pathOrURL, "The path of an object, or its URL,"))) return this.#session.reference({ bucket: bucket ?? this.defaultBucket, fullPath: pathOrURL });
    const found = this.#session.referenceOf(pathOrURL);
    if (found.bucket === (bucket ?? found.bucket)) return found;
    const data = { name: "bucketMismatch", bucket: found.bucket, retryable: false };
    throw new StorageError(`${found} is in bucket ${found.bucket}, not in ${bucket}.`, -13051, data);
  }

  exactReference(object, options) {
    const { bucket } = optionsOf("exactReference", options, ["bucket"]);
    return this.#session.reference({ bucket: bucket ?? this.defaultBucket, object });
  }

  updateSettings(settings, options) {
    return this._ask("storage/updateSettings", settings, [], options);
  }

  uploadTask(id) {
    return this.#session.task(UploadTask, id);
  }

  downloadTask(id) {
    return this.#session.task(DownloadTask, id);
  }

  folderTask(id) {
    return this.#session.task(FolderTask, id);
  }

  uploadTasks(options) {
    return this.#all("uploadTasks", UploadTask, options);
  }

  downloadTasks(options) {
    return this.#all("downloadTasks", DownloadTask, options);
  }

  folderTasks(options) {
    return this.#all("folderTasks", FolderTask, options);
  }

  uploadTaskPages(options) {
    return this.#pages(UploadTask, optionsOf("uploadTaskPages", options, PAGE_OPTIONS));
  }

  downloadTaskPages(options) {
    return this.#pages(DownloadTask, optionsOf("downloadTaskPages", options, PAGE_OPTIONS));
  }

  folderTaskPages(options) {
    return this.#pages(FolderTask, optionsOf("folderTaskPages", options, PAGE_OPTIONS));
  }

  async request(method, params = {}, options) {
    const { signal } = optionsOf("request", options, ["signal"]);
    return this.#session.request(method, params, { signal });
  }

  async close(options) {
    return this.#session.close(optionsOf("close", options, ["drain"]));
  }

  [Symbol.asyncDispose ?? Symbol.for("nodejs.asyncDispose")]() {
    return this.close();
  }

  async _ask(method, params, optional, options, then) {
    const { signal, ...more } = optionsOf(method, options, [...optional, "signal"]);
    return this.#session.request(method, { ...params, ...more }, { signal, then });
  }

  async #all(verb, Kind, options) {
    const tasks = [];
    for await (const page of this.#pages(Kind, optionsOf(verb, options, PAGE_OPTIONS))) tasks.push(...page);
    return tasks;
  }

  async *#pages(Kind, { maxResults = 1000, signal }) {
    const then = ({ tasks, ...rest }) => ({ tasks: tasks.map((one) => this.#session.snapshot(Kind, one)), ...rest });
    let pageToken;
    do {
      const params = { maxResults, pageToken };
      const page = await this.#session.request(`${Kind.kind}Task/list`, params, { signal, then });
      yield page.tasks;
      ({ pageToken } = page);
    } while (pageToken !== undefined);
  }
}

module.exports = { Storage };
