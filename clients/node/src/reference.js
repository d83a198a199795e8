/** A reference: a value, whose path is normalised as in the SDK. */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { ReferenceMethods } from "./methods.js";
import { DownloadTask, UploadTask } from "./task.js";

export class Reference extends ReferenceMethods {
  #session;

  constructor(session, bucket, path, object = undefined) {
    super();
    this.#session = session;
    this.bucket = bucket;
    this.fullPath = segments(object ?? path).join("/");
    this.object = object && object === this.fullPath ? undefined : object;
    Object.freeze(this);
  }

  get name() {
    return segments(this.fullPath).at(-1) ?? "";
  }

  get url() {
    return `gs://${this.bucket}/${this.fullPath}`;
  }

  child(path) {
    return new Reference(this.#session, this.bucket, `${this.fullPath}/${path}`);
  }

  parent() {
    if (!this.fullPath) return null;
    return new Reference(this.#session, this.bucket, segments(this.fullPath).slice(0, -1).join("/"));
  }

  root() {
    return new Reference(this.#session, this.bucket, "");
  }

  isEqual(other) {
    return other instanceof Reference && other.url === this.url && other.object === this.object;
  }

  toString() {
    return this.url;
  }

  toJSON() {
    const { bucket, fullPath, object } = this;
    return object === undefined ? { bucket, fullPath } : { bucket, object };
  }

  [inspect.custom]() {
    return `Reference <${this.url}>`;
  }

  // Tasks

  putData(data, { metadata, ifGenerationMatch, ifMetagenerationMatch, ...options } = {}) {
    const source = typeof data === "string" ? { text: data } : { data: bytes(data).toString("base64") };
    const params = { ...source, metadata, ifGenerationMatch, ifMetagenerationMatch };
    return this.#begin(UploadTask, "reference/putData", params, options);
  }

  putFile(file, { metadata, ifGenerationMatch, ifMetagenerationMatch, ...options } = {}) {
    const params = { file: path(file), metadata, ifGenerationMatch, ifMetagenerationMatch };
    return this.#begin(UploadTask, "reference/putFile", params, options);
  }

  writeToFile(file, options = {}) {
    return this.#begin(DownloadTask, "reference/writeToFile", { file: path(file) }, options);
  }

  // Used by the rendered methods

  _ask(method, params, { signal } = {}, then = undefined) {
    return this.#session.request(method, { reference: this.toJSON(), ...params }, { signal, then });
  }

  _toListing({ prefixes, items, ...rest }) {
    const [folders, objects] = [prefixes, items].map((all) => all.map((one) => this.#session.reference(one)));
    return { prefixes: folders, items: objects, ...rest };
  }

  #begin(Kind, method, params, options) {
    return new Kind(this.#session)._begin(this, method, params, options);
  }
}

function segments(path) {
  return path.split("/").filter(Boolean);
}

function path(file) {
  return file instanceof URL ? fileURLToPath(file) : resolve(file);
}

function bytes(data) {
  if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return Buffer.from(data);
  throw new TypeError("What is put must be bytes or a string.");
}
