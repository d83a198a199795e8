"use strict";
/** A reference: a value, whose path is normalised as in the SDK. */
const { inspect } = require("node:util");
const { pipeline } = require("node:stream/promises");
const { contentOf, piecesOf, sourceOf } = require("./bytes.js");
const { Changes } = require("./changes.js");
const { localPath } = require("./files.js");
const { COUNTS, METADATA, ReferenceMethods, STATUSES } = require("./methods.js");
const { callbackOf, optionsOf, textOf } = require("./options.js");
const { DownloadTask, FolderTask, UploadTask } = require("./task.js");

const UPLOAD_OPTIONS = ["metadata", "ifGenerationMatch", "ifMetagenerationMatch"];
const PUT_FILE_OPTIONS = [...UPLOAD_OPTIONS, "key"];
const COPY_OPTIONS = [...UPLOAD_OPTIONS, "ifSourceGenerationMatch", "ifSourceMetagenerationMatch"];
const STREAM_OPTIONS = [...UPLOAD_OPTIONS, "size"];
const FOLDER_OPTIONS = ["include", "exclude", "changed", "trustTimes", "delete", "dryRun", "ifGenerationMatch", "atOnce", "keepItems", "key"];
const DELETE_OPTIONS = ["include", "exclude", "everything", "dryRun", "atOnce", "keepItems", "key"];
const COPY_ALL_OPTIONS = [...DELETE_OPTIONS, "others", "changed", "ifGenerationMatch", "refresh"];
const NO_FILES = Object.fromEntries(COUNTS.map((name) => [name, 0]));
const TASK_OPTIONS = ["observe", "onProgress", "signal"];

class Reference extends ReferenceMethods {
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
    return new Reference(this.#session, this.bucket, `${this.fullPath}/${textOf(path, "The path of a child")}`);
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
    return this.#begin(UploadTask, "reference/putData", contentOf(data), UPLOAD_OPTIONS, options);
  }

  putFile(file, options) {
    return this.#begin(UploadTask, "reference/putFile", { file: localPath(file) }, PUT_FILE_OPTIONS, options);
  }

  /** With a source the task that uploads it; without one the stream to write to. */
  putStream(...given) {
    if (given.length === 0 || isPlain(given[0])) return this.#openStream(...given);
    const [source, options] = given;
    const [pieces, from] = [piecesOf(source), sourceOf(source)];
    const stream = this.#openStream(options);
    this.#session.feed(stream.task, pipeline(from, pieces, stream).catch(() => {})); // the task has the error
    return stream.task;
  }

  copy(to, options) {
    return this.#begin(UploadTask, "reference/copy", { to: this.#place(to) }, COPY_OPTIONS, options, { written: to });
  }

  move(to, options) {
    return this.#begin(UploadTask, "reference/move", { to: this.#place(to) }, COPY_OPTIONS, options, { written: to });
  }

  writeToFile(file, options) {
    return this.#begin(DownloadTask, "reference/writeToFile", { file: localPath(file) }, ["key"], options);
  }

  getStream(options) {
    return this.#begin(DownloadTask, "reference/getStream", {}, ["offset"], options)._stream();
  }

  // Folders

  putDirectory(directory, options) {
    return this.#beginFolder("put", "reference/putDirectory", localPath(directory), [...FOLDER_OPTIONS, "metadata"], options);
  }

  writeToDirectory(directory, options) {
    return this.#beginFolder("write", "reference/writeToDirectory", localPath(directory), FOLDER_OPTIONS, options);
  }

  deleteAll(options) {
    return this.#beginFolder("delete", "reference/deleteAll", undefined, DELETE_OPTIONS, options);
  }

  copyAll(to, options) {
    return this.#copyFolder("copy", to, options);
  }

  moveAll(to, options) {
    return this.#copyFolder("move", to, options);
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

  /** A reference, or its URL, as a param. */
  #place(reference) {
    if (reference instanceof Reference) return reference.toJSON();
    if (typeof reference !== "string") throw new TypeError("A reference or its URL is wanted.");
    this.#session.checkEngine(reference);
    return reference;
  }

  #openStream(options) {
    const names = [...STREAM_OPTIONS, "md5Hash", ...TASK_OPTIONS];
    const { md5Hash, ...more } = optionsOf("putStream", options, names, adviceFor(STREAM_OPTIONS));
    const task = this.#begin(UploadTask, "reference/putStream", {}, STREAM_OPTIONS, more);
    return task._stream({ md5Hash });
  }

  #copyFolder(kind, to, options) {
    const beginning = { kind, files: NO_FILES, isPlanned: false };
    const params = { to: this.#place(to), move: kind === "move" };
    return this.#begin(FolderTask, "reference/copyAll", params, COPY_ALL_OPTIONS, options, { beginning });
  }

  #beginFolder(kind, method, directory, own, options) {
    const place = directory === undefined ? {} : { directory };
    const beginning = { kind, files: NO_FILES, isPlanned: false, ...place };
    return this.#begin(FolderTask, method, place, own, options, { beginning });
  }

  /** `written` is the object of the task, where that is another one: a reference, or its URL. */
  #begin(Kind, method, params, own, options, { written = this, beginning = {} } = {}) {
    const names = [...own, ...TASK_OPTIONS];
    const { observe, onProgress, signal, ...more } = optionsOf(method, options, names, adviceFor(own));
    const ears = { observe: optionsOf("observe", observe, STATUSES), onProgress: callbackOf("onProgress", onProgress), signal };
    for (const status of Object.keys(ears.observe)) callbackOf(`observe.${status}`, ears.observe[status] ?? {});
    if (typeof written === "object") beginning.reference = written;
    const task = new Kind(this.#session);
    return task._begin(beginning, method, { reference: this.toJSON(), ...params, ...more }, ears);
  }
}

function segments(path) {
  return path.split("/").filter(Boolean);
}

/** A property of the object is no option, but a part of one. */
function adviceFor(own) {
  return (name) => (own.includes("metadata") && METADATA.includes(name) ? `metadata: { ${name} } has it.` : undefined);
}

/** Whether it can only be options: any other object is a source, or a mistake. */
function isPlain(object) {
  if (typeof object !== "object" || object === null || Symbol.iterator in object || Symbol.asyncIterator in object) return false;
  return [Object.prototype, null].includes(Object.getPrototypeOf(object));
}

module.exports = { Reference };
