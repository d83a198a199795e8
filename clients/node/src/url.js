/** Reads `gs://BUCKET/PATH`, taken literally, or `http[s]://HOST/v0/b/BUCKET/o/PATH…`, percent-decoded. */
import { StorageError } from "./errors.js";

export const isURL = (text) => /^[a-z][a-z0-9+.-]*:\/\//i.test(text);

export function parseURL(url) {
  const gs = /^gs:\/\/([^/]+)(.*)$/s.exec(url);
  if (gs) return { bucket: gs[1], fullPath: gs[2] };
  const http = /^https?:\/\/[^/?#]+\/v0\/b\/([^/?#]+)(?:\/?|\/o(?:\/([^?#]*))?)(?:[?#].*)?$/s.exec(url);
  try {
    if (http) return { bucket: decodeURIComponent(http[1]), fullPath: decodeURIComponent(http[2] ?? "") };
  } catch {
    // What is percent-encoded in it is not UTF-8.
  }
  const shapes = "gs://BUCKET/PATH or http[s]://HOST/v0/b/BUCKET/o/PATH";
  const data = { name: "pathError", param: "url", retryable: false };
  throw new StorageError(`${url} is not a storage URL; it must look like ${shapes}.`, -13053, data);
}
