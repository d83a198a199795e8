"""Parses URLs of objects exactly as the service does."""

from __future__ import annotations

import re
from typing import Optional
from urllib.parse import unquote

from .errors import BucketMismatch, PathError

PATH_STYLE_HOSTS = ("storage.googleapis.com", "storage.cloud.google.com")
Place = Optional["tuple[str, str]"]


def is_url(text: str) -> bool:
    """Whether the text starts with a scheme; a path of an object never does."""
    return re.match("[A-Za-z][A-Za-z0-9+.-]*://", text) is not None


def parse_url(url: str) -> tuple[str, str, Optional[str]]:
    """Bucket and path of `gs://BUCKET/PATH` or `s3://BUCKET/PATH`, taken literally, or of an http or https URL of an object, percent-decoded:
    those of Firebase Storage and of the service itself, and those of Google Cloud Storage. These have the exact name of
    the object, which comes last."""
    literal = re.fullmatch("(?:gs|s3)://([^/]+)(.*)", url, re.DOTALL)
    if literal:
        return literal[1], literal[2], None
    http = re.match(r"(https?)://([^/?#]+)([^?#]*)(?:\?([^#]*))?", url, re.DOTALL)
    place = http and _locate(http[1] == "https", http[2].lower(), http[3], http[4] or "")
    try:
        if place and not any(re.search("%(?![0-9A-Fa-f]{2})", part) for part in place):
            name = unquote(place[1], errors="strict")
            return unquote(place[0], errors="strict"), name, name or None
    except UnicodeDecodeError:
        pass
    raise _not_a_storage_url(url)


def not_in(expected: str, bucket: str, path: str) -> BucketMismatch:
    """The error for a URL of another bucket than the given one."""
    data = {"name": "bucketMismatch", "bucket": bucket, "object": path, "retryable": False}
    return BucketMismatch(f"gs://{bucket}/{path} is in bucket {bucket}, not in {expected}.", data=data)


def _locate(secure: bool, authority: str, path: str, query: str) -> Place:
    """Bucket and name as written; None for a URL of another form."""
    port = ":443" if secure else ":80"
    host = authority[: -len(port)] if authority.endswith(port) else authority
    bucket = re.fullmatch(r"([^@]+)\.storage\.googleapis\.com", host, re.DOTALL)
    if not host or bucket:
        return (bucket[1], path[1:]) if bucket else None
    signed = re.search("(?:^|&)(?:x-goog-signature|googleaccessid)(?:=|&|$)", query, re.IGNORECASE)
    path_style = host in PATH_STYLE_HOSTS or (secure and signed and "@" not in host)
    api = re.fullmatch(r"(?:/v0|(/upload|/download)?/storage/v1)/b(?=/|\Z)(.*)", path, re.DOTALL)
    # A bucket may be named like the JSON API, which has no signed URLs.
    if api and not (path_style and signed and not path.startswith("/v0/")):
        found = re.fullmatch("/([^/]+)(?:/?|/o(?:/(.*))?)", api[2], re.DOTALL)
        if found and api[1] == "/upload" and not found[2]:
            return _name_in_query(found[1], query)
        return (found[1], found[2] or "") if found else None
    if not path_style:
        return None
    found = re.fullmatch("/([^/]+)(?:/(.*))?", path, re.DOTALL)
    return (found[1], found[2] or "") if found else None


def _name_in_query(bucket: str, query: str) -> Place:
    """In a query a plus is a space."""
    name = re.search("(?:^|&)name=([^&]+)", query)
    return (bucket, name[1].replace("+", " ")) if name else None


def _not_a_storage_url(url: str) -> PathError:
    """Leaves the query and the password out of the message: they may be secret."""
    shown = re.sub("(?s)[?#].*", "…", url)
    shown = re.sub("(?s)^(.*?://)?.*@", lambda match: f"{match[1] or ''}(…)@", shown)[:1024]
    shapes = "gs://BUCKET/PATH, http[s]://HOST/v0/b/BUCKET/o/PATH or a URL of Google Cloud Storage"
    data = {"name": "pathError", "param": "url", "retryable": False}
    return PathError(f"{shown} is not a storage URL; it must look like {shapes}.", data=data)
