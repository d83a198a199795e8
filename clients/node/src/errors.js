"use strict";
/** The errors, with the names and codes of the contract. */
const { RPC_NAMES } = require("./methods.js");

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
    return new StorageError(String(message), code, data ?? undefined);
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

module.exports = { ServiceGoneError, StorageError };
