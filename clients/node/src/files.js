"use strict";
/** The paths of local files and sockets. */
const { closeSync, constants, existsSync, openSync } = require("node:fs");
const { basename, dirname, resolve } = require("node:path");
const { isURL } = require("./url.js");

/** The absolute path of a local file, which may be given as a file URL. */
function localPath(file) {
  if (file instanceof URL) return pathOfURL(file.href);
  if (typeof file !== "string") throw new TypeError(`A local file is a path or a URL of the scheme file, not ${typeof file}.`);
  if (file === "") throw new TypeError("The path of a file is empty.");
  if (/^file:\//i.test(file) || isURL(file)) return pathOfURL(file);
  return resolve(file);
}

/** Tells no more of a URL than its scheme and host: the rest may be secret. */
function pathOfURL(url) {
  const scheme = url.split(":", 1)[0];
  if (scheme.toLowerCase() !== "file") throw new TypeError(`A URL of the scheme ${scheme} is no local file.`);
  const [, host, path] = /^file:(?:\/\/([^/?#]*)|(?!\/\/))(\/.*)$/is.exec(url) ?? [];
  if (path === undefined) throw new TypeError("A file URL must have an absolute path.");
  if (host && host.toLowerCase() !== "localhost") throw new TypeError(`The host ${host} of a file URL is not this machine.`);
  if (/[?#]/.test(path)) throw new TypeError("A file URL has no query and no fragment: write %3F for ? and %23 for #.");
  if (/%(2f|00)/i.test(path)) throw new TypeError("A file URL must not have %2F and %00 in its path.");
  try {
    return resolve(decodeURIComponent(path));
  } catch {
    throw new TypeError("What is percent-encoded in a file URL must be UTF-8.");
  }
}

const LONGEST = 103; // bytes of the path of a socket in a system call, on every system

/** Whether a system call takes the path of a socket. */
const isShort = (path) => Buffer.byteLength(path) <= LONGEST;

/**
 * The path by which a socket is connected to: Linux has one for those that are too long for the system call. It is valid
 * until `close`.
 */
function socketAddress(path) {
  if (isShort(path) || !existsSync("/proc/self/fd")) return { address: path, close() {} };
  const directory = openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
  return { address: `/proc/self/fd/${directory}/${basename(path)}`, close: () => closeSync(directory) };
}

module.exports = { isShort, localPath, socketAddress };
