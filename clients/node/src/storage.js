/** The entry point: a session with a service. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { StorageMethods } from "./methods.js";
import { Session } from "./session.js";
import { DownloadTask, UploadTask } from "./task.js";
import { Child, Socket } from "./transport.js";
import { isURL, parseURL } from "./url.js";

/** The program of a package that brings it. */
function bundled() {
  const path = fileURLToPath(new URL("../bin/storage-rpc", import.meta.url));
  return existsSync(path) ? path : undefined;
}

export class Storage extends StorageMethods {
  #session;

  static async spawn({ program, args = [], env = {}, shared = false, ...options } = {}) {
    const environment = { ...process.env, ...env };
    const command = [program ?? (environment.STORAGE_RPC || bundled() || "storage-rpc"), ...(shared ? ["connect"] : []), ...args];
    const transport = await Child.start(command, environment, shared);
    return Storage.#open(transport, options);
  }

  static async connect(socketPath, options = {}) {
    return Storage.#open(await Socket.connect(socketPath), options);
  }

  static async #open(transport, { bucket, onRefreshToken }) {
    const storage = new Storage();
    storage.#session = new Session(transport, onRefreshToken);
    await storage.#session.open(bucket);
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

  reference(pathOrURL = "") {
    const place = isURL(pathOrURL) ? parseURL(pathOrURL) : { bucket: this.defaultBucket, fullPath: pathOrURL };
    return this.#session.reference(place);
  }

  exactReference(object, { bucket } = {}) {
    return this.#session.reference({ bucket: bucket ?? this.defaultBucket, object });
  }

  updateSettings(settings, options) {
    return this.request("storage/updateSettings", settings, options);
  }

  uploadTask(id) {
    return this.#session.task(UploadTask, id);
  }

  downloadTask(id) {
    return this.#session.task(DownloadTask, id);
  }

  uploadTasks(options) {
    return all(this.uploadTaskPages(options));
  }

  downloadTasks(options) {
    return all(this.downloadTaskPages(options));
  }

  uploadTaskPages(options) {
    return this.#pages(UploadTask, options);
  }

  downloadTaskPages(options) {
    return this.#pages(DownloadTask, options);
  }

  request(method, params = {}, { signal } = {}) {
    return this.#session.request(method, params, { signal });
  }

  close(options) {
    return this.#session.close(options);
  }

  [Symbol.asyncDispose ?? Symbol.for("nodejs.asyncDispose")]() {
    return this.close();
  }

  _ask(method, params, { signal } = {}, then = undefined) {
    return this.#session.request(method, params, { signal, then });
  }

  async *#pages(Kind, { maxResults = 1000, signal } = {}) {
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

async function all(pages) {
  const tasks = [];
  for await (const page of pages) tasks.push(...page);
  return tasks;
}
