"""Parses URLs of objects exactly as the service does, and refuses those of another storage as the commands do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Optional
from urllib.parse import unquote

from .errors import BucketMismatch, PathError

PATH_STYLE_HOSTS = ("storage.googleapis.com", "storage.cloud.google.com")
GOOGLE_SIGNATURES = {"x-goog-signature", "googleaccessid"}
AMAZON_SIGNATURES = {"x-amz-signature", "awsaccesskeyid"}
Place = Optional["tuple[str, str]"]


class Server(NamedTuple):
    """A server of S3, whose URLs need no signature."""

    scheme: str
    host: str
    """With the port, in lower case and without a default port."""
    has_virtual_hosts: bool
    """Buckets are also hosts below the server's own."""


def server_of(words: Sequence[str]) -> Server | None:
    """The server of S3 that the flags of a service name; None without `--endpoint`."""
    endpoint = None
    for word, following in zip(words, [*words[1:], ""]):
        if word == "--endpoint" or word.startswith("--endpoint="):
            endpoint = word[11:] or following
    if not endpoint:
        return None
    scheme, _, authority = endpoint.lower().rpartition("://")
    secure = scheme == "https"
    return Server(scheme or "http", _host(secure, authority.rstrip("/")), "--virtual-host" in words)


def is_url(text: str) -> bool:
    """Whether the text starts with a scheme; a path of an object never does."""
    return re.match("[A-Za-z][A-Za-z0-9+.-]*://", text) is not None


def check_engine(url: str, engine: str | None) -> None:
    """Raises for a URL of S3 if the engine of the session is another one: the URL would name another object.

    The engine is None if the service does not name it.
    """
    if engine in ("s3", None):
        return
    http = re.match("https?://([^/?#]+)", url)
    if url.startswith("s3://"):
        what = "an object or a bucket of S3"
    elif http and _labels_before_amazon(http[1].lower()) is not None:
        what = "an object of Amazon S3"
    else:
        return
    bucket, path, _ = parse_url(url)
    here = "this disk" if engine == "embedded" else f'engine="{engine}"'
    object = "/".join(segment for segment in path.split("/") if segment)
    message = f'{_shown(url)} names {what}: add engine="s3"; for {here} write gs://{bucket}/{object}'
    raise PathError(message, data={"name": "pathError", "param": "url", "retryable": False})


def parse_url(url: str, server: Server | None = None) -> tuple[str, str, str | None]:
    """Bucket and path of `gs://BUCKET/PATH` or `s3://BUCKET/PATH`, taken literally, or of an http or https URL of an
    object, percent-decoded: of Firebase Storage, of the service itself, of Google Cloud Storage, of Amazon S3, and of
    the `server`. An http or https URL has the exact name of the object, which comes last."""
    literal = re.fullmatch("(?:gs|s3)://([^/]+)(.*)", url, re.DOTALL)
    if literal:
        return literal[1], literal[2], None
    http = re.match(r"(https?)://([^/?#]+)([^?#]*)(?:\?([^#]*))?", url, re.DOTALL)
    place = http and _locate(http[1], http[2].lower(), http[3], http[4] or "", server)
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


def _locate(scheme: str, authority: str, path: str, query: str, server: Server | None) -> Place:
    """Bucket and name as written; None for a URL of another form."""
    secure, known = scheme == "https", "@" not in authority
    host = _host(secure, authority)
    bucket = _bucket_in_host(scheme, host, server) if known else None
    if not host or bucket:
        return (bucket, path[1:]) if bucket else None
    names = {parameter.partition("=")[0].lower() for parameter in query.split("&")}
    if known and (_labels_before_amazon(host) is not None or names & AMAZON_SIGNATURES):
        return _path_style(path)
    signed = known and bool(names & GOOGLE_SIGNATURES)
    of_server = server is not None and (server.scheme, server.host) == (scheme, host)
    path_style = of_server or host in PATH_STYLE_HOSTS or (secure and signed)
    api = re.fullmatch(r"(?:/v0|(/upload|/download)?/storage/v1)/b(?=/|\Z)(.*)", path, re.DOTALL)
    # A bucket may be named like the JSON API, which has no signed URLs, and which a server of S3 does not have.
    if api and (path.startswith("/v0/") or not (of_server or (path_style and signed))):
        found = re.fullmatch("/([^/]+)(?:/?|/o(?:/(.*))?)", api[2], re.DOTALL)
        if found and api[1] == "/upload" and not found[2]:
            return _name_in_query(found[1], query)
        return (found[1], found[2] or "") if found else None
    return _path_style(path) if path_style else None


def _host(secure: bool, authority: str) -> str:
    port = ":443" if secure else ":80"
    return authority[: -len(port)] if authority.endswith(port) else authority


def _bucket_in_host(scheme: str, host: str, server: Server | None) -> str | None:
    labels = _labels_before_amazon(host)
    if labels:
        return ".".join(labels)
    parents = ["storage.googleapis.com"]
    if server and server.has_virtual_hosts and server.scheme == scheme:
        parents.append(server.host)
    return next((host[: -len(parent) - 1] for parent in parents if host.endswith(f".{parent}")), None)


def _labels_before_amazon(host: str) -> list[str] | None:
    """The labels before the one of the service, `s3` or `s3-REGION`; None for a host that is not Amazon's."""
    if "@" in host or not host.endswith((".amazonaws.com", ".amazonaws.com.cn")):
        return None
    labels = host.split(".")
    of_service = [at for at, label in enumerate(labels) if label == "s3" or label.startswith("s3-")]
    return labels[: of_service[-1]] if of_service else None


def _path_style(path: str) -> Place:
    found = re.fullmatch("/([^/]+)(?:/(.*))?", path, re.DOTALL)
    return (found[1], found[2] or "") if found else None


def _name_in_query(bucket: str, query: str) -> Place:
    """In a query a plus is a space."""
    name = re.search("(?:^|&)name=([^&]+)", query)
    return (bucket, name[1].replace("+", " ")) if name else None


def _shown(url: str) -> str:
    """The URL without its query and its password: they may be secret."""
    shown = re.sub("(?s)[?#].*", "…", url)
    return re.sub("(?s)^(.*?://)?.*@", lambda match: f"{match[1] or ''}(…)@", shown)[:1024]


def _not_a_storage_url(url: str) -> PathError:
    shapes = "gs://BUCKET/PATH, http[s]://HOST/v0/b/BUCKET/o/PATH or a URL of Google Cloud Storage or Amazon S3"
    data = {"name": "pathError", "param": "url", "retryable": False}
    return PathError(f"{_shown(url)} is not a storage URL; it must look like {shapes}.", data=data)
