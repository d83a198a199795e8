"use strict";
/**
 * Parses `gs://BUCKET/PATH` or `s3://BUCKET/PATH`, literally, or an http or https URL of an object, percent-decoded: of
 * Firebase Storage, of the service itself, of Google Cloud Storage and of Amazon S3. These have the exact name of the
 * object. The service parses them in the same way, and the commands refuse those of another storage in the same words.
 */
const { StorageError } = require("./errors.js");

const isURL = (text) => /^[a-z][a-z0-9+.-]*:\/\//i.test(text);

const PATH_STYLE_HOSTS = ["storage.googleapis.com", "storage.cloud.google.com"];
const GOOGLE_SIGNATURES = ["x-goog-signature", "googleaccessid"];
const AMAZON_SIGNATURES = ["x-amz-signature", "awsaccesskeyid"];

/** The server of S3 that the flags of a service name, whose URLs need no signature; undefined without `--endpoint`. */
function serverOf(words) {
  const at = words.findLastIndex((word) => /^--endpoint(=|$)/.test(word));
  const endpoint = at < 0 ? undefined : words[at].slice("--endpoint=".length) || words[at + 1];
  const [, scheme = "http", authority] = /^(?:([^:]*):\/\/)?(.*?)\/?$/s.exec(endpoint?.toLowerCase() ?? "");
  if (!authority) return undefined;
  return { scheme, host: hostOf(scheme, authority), hasVirtualHosts: words.includes("--virtual-host") };
}

/**
 * Throws for a URL of S3 if the engine of the session is another one: the URL would name another object. The engine is
 * undefined if the service does not name it.
 */
function checkEngine(url, engine) {
  const host = /^https?:\/\/([^/?#]+)/.exec(url)?.[1].toLowerCase() ?? "";
  if (engine === "s3" || engine === undefined || !(url.startsWith("s3://") || labelsBeforeAmazon(host))) return;
  const what = host ? "an object of Amazon S3" : "an object or a bucket of S3";
  const here = engine === "embedded" ? "this disk" : `engine: "${engine}"`;
  const { bucket, object, fullPath } = parseURL(url);
  const path = (object ?? fullPath).split("/").filter(Boolean).join("/");
  throw pathError(`${shown(url)} names ${what}: add engine: "s3"; for ${here} write gs://${bucket}/${path}`);
}

/** Bucket and path or object. `server` is that of `serverOf`. */
function parseURL(url, server) {
  const gs = /^(?:gs|s3):\/\/([^/]+)(.*)$/s.exec(url);
  if (gs) return { bucket: gs[1], fullPath: gs[2] };
  const http = /^(https?):\/\/([^/?#]+)([^?#]*)(?:\?([^#]*))?/s.exec(url);
  const place = http && locate(http[1], http[2].toLowerCase(), http[3], http[4] ?? "", server);
  try {
    const [bucket, name] = (place ?? []).map((part) => decodeURIComponent(part ?? ""));
    if (place) return name ? { bucket, object: name } : { bucket, fullPath: "" };
  } catch {
    // What is percent-encoded in it is not UTF-8.
  }
  const shapes = "gs://BUCKET/PATH, http[s]://HOST/v0/b/BUCKET/o/PATH or a URL of Google Cloud Storage or Amazon S3";
  throw pathError(`${shown(url)} is not a storage URL; it must look like ${shapes}.`);
}

/** Bucket and name as written; undefined for a URL of another form. */
function locate(scheme, authority, path, query, server) {
  const [isSecure, isKnown] = [scheme === "https", !authority.includes("@")];
  const host = hostOf(scheme, authority);
  if (!host) return undefined;
  const bucket = isKnown && bucketInHost(scheme, host, server);
  if (bucket) return [bucket, path.slice(1)];
  const names = query.split("&").map((one) => one.split("=", 1)[0].toLowerCase());
  const has = (signatures) => isKnown && names.some((name) => signatures.includes(name));
  if (labelsBeforeAmazon(host) || has(AMAZON_SIGNATURES)) return pathStyle(path);
  const isOfServer = server?.scheme === scheme && server.host === host;
  const isPathStyle = isOfServer || PATH_STYLE_HOSTS.includes(host) || (isSecure && has(GOOGLE_SIGNATURES));
  const api = /^(?:\/v0|(\/upload|\/download)?\/storage\/v1)\/b(?=\/|$)(.*)$/s.exec(path);
  // A bucket may be named like the JSON API, which has no signed URLs, and which a server of S3 does not have.
  if (api && (path.startsWith("/v0/") || !(isOfServer || (isPathStyle && has(GOOGLE_SIGNATURES))))) {
    const [, found, name] = /^\/([^/]+)(?:\/?|\/o(?:\/(.*))?)$/s.exec(api[2]) ?? [];
    return found && api[1] === "/upload" && !name ? nameInQuery(found, query) : found && [found, name];
  }
  return isPathStyle ? pathStyle(path) : undefined;
}

/** With the port, unless it is the default one. */
function hostOf(scheme, authority) {
  return authority.replace(scheme === "https" ? /:443$/ : /:80$/, "");
}

function bucketInHost(scheme, host, server) {
  const labels = labelsBeforeAmazon(host);
  if (labels?.length) return labels.join(".");
  const parents = ["storage.googleapis.com"];
  if (server?.hasVirtualHosts && server.scheme === scheme) parents.push(server.host);
  const parent = parents.find((one) => host.endsWith(`.${one}`));
  return parent && host.slice(0, -parent.length - 1);
}

/** The labels before the one of the service, `s3` or `s3-REGION`; undefined for a host that is not Amazon's. */
function labelsBeforeAmazon(host) {
  if (!/\.amazonaws\.com(?:\.cn)?$/.test(host) || host.includes("@")) return undefined;
  const labels = host.split(".");
  const at = labels.findLastIndex((label) => label === "s3" || label.startsWith("s3-"));
  return at < 0 ? undefined : labels.slice(0, at);
}

function pathStyle(path) {
  return /^\/([^/]+)(?:\/(.*))?$/s.exec(path)?.slice(1);
}

/** In a query a plus is a space. */
function nameInQuery(bucket, query) {
  const name = /(?:^|&)name=([^&]+)/.exec(query);
  return name && [bucket, name[1].replaceAll("+", " ")];
}

/** The URL without its query and its password: they may be secret. */
function shown(url) {
  return url.replace(/[?#].*$/s, "…").replace(/^(.*?:\/\/)?.*@/s, "$1(…)@").slice(0, 1024);
}

function pathError(message) {
  return new StorageError(message, -13053, { name: "pathError", param: "url", retryable: false });
}

module.exports = { checkEngine, isURL, parseURL, serverOf };
