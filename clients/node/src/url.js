"use strict";
/**
 * Parses `gs://BUCKET/PATH` or `s3://BUCKET/PATH`, literally, or an http or https URL of an object, percent-decoded: those of Firebase
 * Storage, of the service itself, and of Google Cloud Storage, which have the exact name of the object. The service
 * parses them in the same way.
 */
const { StorageError } = require("./errors.js");

const isURL = (text) => /^[a-z][a-z0-9+.-]*:\/\//i.test(text);

const PATH_STYLE_HOSTS = ["storage.googleapis.com", "storage.cloud.google.com"];

function parseURL(url) {
  const gs = /^(?:gs|s3):\/\/([^/]+)(.*)$/s.exec(url);
  if (gs) return { bucket: gs[1], fullPath: gs[2] };
  const http = /^(https?):\/\/([^/?#]+)([^?#]*)(?:\?([^#]*))?/s.exec(url);
  const place = http && locate(http[1] === "https", http[2].toLowerCase(), http[3], http[4] ?? "");
  try {
    const [bucket, name] = (place ?? []).map((part) => decodeURIComponent(part ?? ""));
    if (place) return name ? { bucket, object: name } : { bucket, fullPath: "" };
  } catch {
    // What is percent-encoded in it is not UTF-8.
  }
  throw notAStorageURL(url);
}

/** Bucket and name as written; undefined for a URL of another form. */
function locate(isSecure, authority, path, query) {
  const host = authority.replace(isSecure ? /:443$/ : /:80$/, "");
  if (!host) return undefined;
  const bucket = /^([^@]+)\.storage\.googleapis\.com$/s.exec(host);
  if (bucket) return [bucket[1], path.slice(1)];
  const isSigned = /(?:^|&)(?:x-goog-signature|googleaccessid)(?:=|&|$)/i.test(query) && !host.includes("@");
  const isPathStyle = PATH_STYLE_HOSTS.includes(host) || (isSecure && isSigned);
  const api = /^(?:\/v0|(\/upload|\/download)?\/storage\/v1)\/b(?=\/|$)(.*)$/s.exec(path);
  // A bucket may be named like the JSON API, which has no signed URLs.
  if (api && !(isPathStyle && isSigned && !path.startsWith("/v0/"))) {
    const [, found, name] = /^\/([^/]+)(?:\/?|\/o(?:\/(.*))?)$/s.exec(api[2]) ?? [];
    return found && api[1] === "/upload" && !name ? nameInQuery(found, query) : found && [found, name];
  }
  if (!isPathStyle) return undefined;
  return /^\/([^/]+)(?:\/(.*))?$/s.exec(path)?.slice(1);
}

/** In a query a plus is a space. */
function nameInQuery(bucket, query) {
  const name = /(?:^|&)name=([^&]+)/.exec(query);
  return name && [bucket, name[1].replaceAll("+", " ")];
}

/** Leaves the query and the password out of the message: they may be secret. */
function notAStorageURL(url) {
  const shown = url.replace(/[?#].*$/s, "…").replace(/^(.*?:\/\/)?.*@/s, "$1(…)@").slice(0, 1024);
  const shapes = "gs://BUCKET/PATH, http[s]://HOST/v0/b/BUCKET/o/PATH or a URL of Google Cloud Storage";
  const data = { name: "pathError", param: "url", retryable: false };
  return new StorageError(`${shown} is not a storage URL; it must look like ${shapes}.`, -13053, data);
}

module.exports = { isURL, parseURL };
