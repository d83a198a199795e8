/** A reference: a value, whose path is normalised as in the SDK. */
import { inspect } from "node:util";
import { Changes } from "./changes.js";
import { localPath } from "./files.js";
import { ReferenceMethods, STATUSES, METADATA } from "./methods.js";
import { callbackOf, optionsOf } from "./options.js";
import { DownloadTask, UploadTask } from "./task.js";

const UPLOAD_OPTIONS = ["metadata", "ifGenerationMatch", "ifMetagenerationMatch"];
const COPY_OPTIONS = [...UPLOAD_OPTIONS, "ifSourceGenerationMatch", "ifSourceMetagenerationMatch"];
const TASK_OPTIONS = ["observe", "onProgress", "signal"];

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

  putData(data, options) {
    const source = typeof data === "string" ? { text: data } : { data: bytes(data).toString("base64") };
    return this.#begin(UploadTask, "reference/putData", source, UPLOAD_OPTIONS, options);
  }

  putFile(file, options) {
    return this.#begin(UploadTask, "reference/putFile", { file: localPath(file) }, UPLOAD_OPTIONS, options);
  }

  copy(to, options) {
    return this.#begin(UploadTask, "reference/copy", { to: place(to) }, COPY_OPTIONS, options, to);
  }

  move(to, options) {
    return this.#begin(UploadTask, "reference/move", { to: place(to) }, COPY_OPTIONS, options, to);
  }

  writeToFile(file, options) {
    return this.#begin(DownloadTask, "reference/writeToFile", { file: localPath(file) }, [], options);
  }

  // Changes

  async changes(options) {
    const { signal } = optionsOf("changes", options, ["signal"]);
    return (await new Changes(this.#session, this, signal).open()).read();
  }

  // Used by the rendered methods

  async _ask(method, params, optional, options, then) {
    const { signal, ...more } = optionsOf(method, options, [...optional, "signal"]);
    return this.#session.request(method, { reference: this.toJSON(), ...params, ...more }, { signal, then });
  }

  _toListing({ prefixes, items, ...rest }) {
    const [folders, objects] = [prefixes, items].map((all) => all.map((one) => this.#session.reference(one)));
    return { prefixes: folders, items: objects, ...rest };
  }

  /** `written` is the object of the task, where that is another one: a reference, or its URL. */
  #begin(Kind, method, params, own, options, written = this) {
    const names = [...own, ...TASK_OPTIONS];
    const { observe, onProgress, signal, ...more } = optionsOf(method, options, names, adviceFor(own));
    const ears = { observe: optionsOf("observe", observe, STATUSES), onProgress: callbackOf("onProgress", onProgress), signal };
    for (const status of Object.keys(ears.observe)) callbackOf(`observe.${status}`, ears.observe[status] ?? {});
    const task = new Kind(this.#session);
    return task._begin(written, method, { reference: this.toJSON(), ...params, ...more }, ears);
  }
}

function segments(path) {
  return path.split("/").filter(Boolean);
}

/** A reference as a param. */
function place(reference) {
  if (reference instanceof Reference) return reference.toJSON();
  if (typeof reference === "string") return reference;
  throw new TypeError("A reference or its URL is wanted.");
}

/** A property of the object is no option, but a part of one. */
function adviceFor(own) {
  return (name) => (own.includes("metadata") && METADATA.includes(name) ? `metadata: { ${name} } has it.` : undefined);
}

function bytes(data) {
  if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return Buffer.from(data);
  throw new TypeError("What is put must be bytes or a string.");
}
