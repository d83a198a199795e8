"use strict";
/** The errors, with the names and codes of the contract. */
const { constants } = require("node:os");
const { RPC_NAMES } = require("./methods.js");
const { version: VERSION } = require("../package.json");

const METHOD_NOT_FOUND = -32601;
const UNKNOWN = -13000;
/** What is said of a local file or a directory that is missing, which is an ENOENT as Node's own. */
const ABSENT = /( does not exist|: No such file or directory)\.$/;

/** How the service says that its root is in use. */
const SHARING = "`storage-rpc connect`";
/** The options of a session that are flags of the service. */
const OPTIONS = ["engine", "endpoint"];

/** What the service says to those who start it, with the names that the flags in it have here. */
function inNode(words) {
  const names = OPTIONS.filter((name) => new RegExp(`--${name}\\b`).test(words));
  const options = names.length > 1 ? "are options" : "is an option";
  const sharing = words.includes(SHARING) && "In Node that is shared: true, in each program.";
  const advice = sharing || (names.length && `In Node, ${names.join(" and ")} ${options} of spawn.`);
  return advice ? `${words}${words.endsWith(".") ? "" : "."} ${advice}` : words;
}

class StorageError extends Error {
  static {
    this.prototype.name = "StorageError";
  }

  constructor(message, code = 0, data = {}, options = undefined) {
    super(message, options);
    this.code = code;
    this.reason = data.name ?? RPC_NAMES[code] ?? "unknown";
    this.data = data;
  }

  get retryable() {
    return this.data.retryable === true;
  }

  /** Sets `cause`, as the option of Error does. */
  _causedBy(cause) {
    Object.defineProperty(this, "cause", { value: cause, writable: true, configurable: true });
  }

  static fromWire({ message, code, data }) {
    const error = new StorageError(String(message), code, data ?? undefined);
    const isAbsent = code === UNKNOWN && data?.file !== undefined && ABSENT.test(error.message);
    if (isAbsent) Object.assign(error, { code: "ENOENT", errno: -constants.errno.ENOENT, path: data.file });
    return error;
  }

  /** For a task whose signal was aborted before the task was requested. */
  static cancelled(cause) {
    const data = { name: "cancelled", retryable: false };
    return new StorageError("The task was cancelled before it began.", -13040, data, { cause });
  }
}

class ServiceGoneError extends StorageError {
  static {
    this.prototype.name = "ServiceGoneError";
  }

  constructor(message, { exitCode = null, signal = null, stderr = [] } = {}) {
    super(message, 0, { name: "serviceGone" });
    this.exitCode = exitCode;
    this.signal = signal;
    this.stderr = stderr;
  }
}

/** The error of an answer. A service of this version that lacks the method may be older than the client. */
function errorOfAnswer(method, error, version) {
  if (error.code !== METHOD_NOT_FOUND || version === undefined || !isOlder(version, VERSION)) return StorageError.fromWire(error);
  const service = `The service, storage-rpc ${version}, is older than this client, ${VERSION}`;
  return StorageError.fromWire({ ...error, message: `${service}, and has no method "${method}".` });
}

/** Whether a version comes before another. One that has no numbers does not. */
function isOlder(version, other) {
  const [one, two] = [version, other].map((each) => String(each).split("-")[0].split(".").map(Number));
  if ([...one, ...two].some(Number.isNaN)) return false;
  const at = two.findIndex((number, index) => number !== (one[index] ?? -1));
  return at >= 0 && (one[at] ?? -1) < two[at];
}

module.exports = { ServiceGoneError, StorageError, VERSION, errorOfAnswer, inNode, isOlder };
