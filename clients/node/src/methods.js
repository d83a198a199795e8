// Rendered from protocol/openrpc.json by protocol/render.py: edit that, not this.
"use strict";
const { EventEmitter } = require("node:events");

/** All that the service can be asked for. */
const METHODS = Object.freeze([
  "initialize",
  "shutdown",
  "exit",
  "rpc.discover",
  "service/ping",
  "service/status",
  "service/metrics",
  "service/stop",
  "auth/setToken",
  "storage/reference",
  "storage/getSettings",
  "storage/updateSettings",
  "storage/buckets",
  "storage/observe",
  "storage/removeObserver",
  "reference/child",
  "reference/parent",
  "reference/root",
  "reference/putData",
  "reference/putFile",
  "reference/putStream",
  "reference/copy",
  "reference/move",
  "reference/exists",
  "reference/getMetadata",
  "reference/updateMetadata",
  "reference/downloadURL",
  "reference/revokeDownloadURL",
  "reference/delete",
  "reference/list",
  "reference/listAll",
  "reference/getData",
  "reference/writeToFile",
  "reference/putDirectory",
  "reference/writeToDirectory",
  "reference/deleteAll",
  "reference/copyAll",
  "reference/getStream",
  "uploadTask/pause",
  "uploadTask/resume",
  "uploadTask/retry",
  "uploadTask/cancel",
  "uploadTask/snapshot",
  "uploadTask/wait",
  "uploadTask/list",
  "uploadTask/forget",
  "uploadTask/observe",
  "uploadTask/removeObserver",
  "uploadTask/removeAllObservers",
  "uploadTask/append",
  "uploadTask/finish",
  "downloadTask/pause",
  "downloadTask/resume",
  "downloadTask/retry",
  "downloadTask/cancel",
  "downloadTask/snapshot",
  "downloadTask/wait",
  "downloadTask/list",
  "downloadTask/forget",
  "downloadTask/observe",
  "downloadTask/removeObserver",
  "downloadTask/removeAllObservers",
  "downloadTask/read",
  "folderTask/pause",
  "folderTask/resume",
  "folderTask/cancel",
  "folderTask/retry",
  "folderTask/snapshot",
  "folderTask/wait",
  "folderTask/list",
  "folderTask/items",
  "folderTask/forget",
  "folderTask/observe",
  "folderTask/removeObserver",
  "folderTask/removeAllObservers",
]);

const STATUSES = Object.freeze(["resume", "progress", "pause", "success", "failure"]);

/** The properties of metadata that a write takes. */
const METADATA = Object.freeze(["cacheControl", "contentDisposition", "contentEncoding", "contentLanguage", "contentType", "customMetadata", "md5Hash", "bucket", "fullPath", "name", "object", "generation", "metageneration", "size", "timeCreated", "updated", "crc32c"]);

/** What the snapshot of a folder counts. */
const COUNTS = Object.freeze(["total", "completed", "unchanged", "toDelete", "deleted", "refused", "failed"]);

/** The names of JSON-RPC's own errors. */
const RPC_NAMES = Object.freeze({
  [-32700]: "parseError",
  [-32600]: "invalidRequest",
  [-32601]: "methodNotFound",
  [-32602]: "invalidParams",
  [-32603]: "internalError",
  [-32800]: "requestCancelled",
});

/** What needs nothing but to ask: `_ask(method, params, names of options, options, then)`. */
class StorageMethods {
  discover(options) {
    return this._ask("rpc.discover", {}, [], options);
  }

  ping(options) {
    return this._ask("service/ping", {}, [], options);
  }

  status(options) {
    return this._ask("service/status", {}, [], options);
  }

  metrics(options) {
    return this._ask("service/metrics", {}, [], options);
  }

  stop(options) {
    return this._ask("service/stop", {}, [], options, () => undefined);
  }

  setToken(token, options) {
    return this._ask("auth/setToken", { token }, ["kind", "expiresIn"], options, () => undefined);
  }

  getSettings(options) {
    return this._ask("storage/getSettings", {}, [], options);
  }

  buckets(options) {
    return this._ask("storage/buckets", {}, ["project"], options, ({ buckets }) => buckets);
  }
}

/** What needs nothing but to ask: `_ask(method, params, names of options, options, then)`. */
class ReferenceMethods {
  exists(options) {
    return this._ask("reference/exists", {}, [], options, ({ exists }) => exists);
  }

  getMetadata(options) {
    return this._ask("reference/getMetadata", {}, [], options);
  }

  updateMetadata(metadata, options) {
    return this._ask("reference/updateMetadata", { metadata }, ["ifGenerationMatch", "ifMetagenerationMatch"], options);
  }

  downloadURL(options) {
    return this._ask("reference/downloadURL", {}, ["expiresIn"], options, ({ url }) => url);
  }

  revokeDownloadURL(options) {
    return this._ask("reference/revokeDownloadURL", {}, [], options, ({ url }) => url);
  }

  delete(options) {
    return this._ask("reference/delete", {}, ["ifGenerationMatch", "ifMetagenerationMatch"], options, () => undefined);
  }

  list(options) {
    return this._ask("reference/list", {}, ["maxResults", "pageToken", "exact", "metadata", "recursive"], options, (result) => this._toListing(result));
  }

  listAll(options) {
    return this._ask("reference/listAll", {}, ["exact", "recursive"], options, (result) => this._toListing(result));
  }

  getData(maxSize, options) {
    return this._ask("reference/getData", { maxSize }, ["offset", "length"], options, ({ data }) => Buffer.from(data, "base64"));
  }
}

/** What needs nothing but to ask: `_ask(method, params, names of options, options, then)`. */
class TaskMethods extends EventEmitter {
  forget(options) {
    return this._ask("forget", {}, [], options, ({ accepted }) => accepted);
  }
}

module.exports = { COUNTS, METADATA, METHODS, ReferenceMethods, StorageMethods, TaskMethods, RPC_NAMES, STATUSES };
