"""What users of google-cloud-storage, firebase-admin and gcsfs do, against the gateway at STORAGE_EMULATOR_HOST."""

import gzip
import io
import os
import tempfile
import urllib.request

import firebase_admin
import gcsfs
import requests
from firebase_admin import credentials
from firebase_admin import storage as admin
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage
from google.cloud.storage import transfer_manager

MIB = 1 << 20
DATA = os.urandom(20_000_000)


def uploads_and_downloads(client):
    bucket = client.bucket("box")
    small = bucket.blob("a/small.txt")
    small.upload_from_string("hello", content_type="text/plain")
    assert small.download_as_bytes() == b"hello"
    film = bucket.blob("film", chunk_size=8 * MIB)
    film.upload_from_file(io.BytesIO(DATA), size=len(DATA))
    assert film.size == len(DATA) and film.download_as_bytes(checksum="crc32c") == DATA
    assert film.download_as_bytes(start=10, end=19) == DATA[10:20]
    with bucket.blob("stream").open("wb", chunk_size=MIB) as file:
        for start in range(0, 5_000_000, 300_000):
            file.write(DATA[start : start + 300_000])
    assert bucket.blob("stream").download_as_bytes() == DATA[:5_100_000]
    with film.open("rb", chunk_size=MIB) as file:
        file.seek(5_000_000)
        assert file.read(100) == DATA[5_000_000:5_000_100]
    with tempfile.NamedTemporaryFile() as file:
        file.write(DATA)
        file.flush()
        parts = bucket.blob("parts")
        transfer_manager.upload_chunks_concurrently(file.name, parts, chunk_size=5 * MIB, worker_type=transfer_manager.THREAD)
    assert parts.download_as_bytes() == DATA
    empty = bucket.blob("empty")
    empty.upload_from_string("")
    assert empty.download_as_bytes() == b""
    for name in ["a%2Fb", "100%", "%25", "ü/ñ", "a b+c&d=e", "x//y/"]:
        bucket.blob(name).upload_from_string(name)
        assert bucket.blob(name).download_as_bytes().decode() == name


def packed(client):
    blob = client.bucket("packed").blob("text")
    blob.content_encoding = "gzip"
    blob.upload_from_string(gzip.compress(DATA[:3_000_000]), content_type="text/plain")
    again = client.bucket("packed").get_blob("text")
    assert again.content_encoding == "gzip"
    assert again.download_as_bytes() == DATA[:3_000_000]
    assert gzip.decompress(again.download_as_bytes(raw_download=True)) == DATA[:3_000_000]
    with urllib.request.urlopen(again.media_link) as answer:
        assert answer.read() == DATA[:3_000_000]


def signed(client):
    """What a browser does with a signed URL or a form, which the emulator cannot."""
    base, data = os.environ["STORAGE_EMULATOR_HOST"], DATA[:1_000_000]
    put = urllib.request.Request(f"{base}/signed/a/b?X-Goog-Signature=x", data, {"Content-Type": "a/b"}, method="PUT")
    urllib.request.urlopen(put).close()
    assert client.bucket("signed").get_blob("a/b").content_type == "a/b"
    assert requests.post(f"{base}/signed", {"key": "form", "x-goog-meta-k": "v"}, files={"file": data}).status_code == 204
    assert client.bucket("signed").get_blob("form").metadata == {"k": "v"}
    assert client.bucket("signed").blob("form").download_as_bytes() == data


def lists(client):
    for name in ["one", "two", "d/three", "d/four"]:
        client.bucket("lists").blob(name).upload_from_string(name)
    assert [blob.name for blob in client.list_blobs("lists")] == ["d/four", "d/three", "one", "two"]
    assert [len(list(page)) for page in client.list_blobs("lists", page_size=3).pages] == [3, 1]
    top = client.list_blobs("lists", delimiter="/")
    assert [blob.name for blob in top] == ["one", "two"] and top.prefixes == {"d/"}
    some = client.list_blobs("lists", start_offset="d/three", end_offset="two")
    assert [blob.name for blob in some] == ["d/three", "one"]


def changes(client):
    bucket = client.bucket("changes")
    blob = bucket.blob("x")
    blob.upload_from_string("x", content_type="text/plain")
    blob.metadata = {"k": "v"}
    blob.cache_control = "no-store"
    blob.patch()
    again = bucket.get_blob("x")
    assert (again.metadata, again.cache_control, again.metageneration) == ({"k": "v"}, "no-store", 2)
    assert bucket.copy_blob(blob, client.bucket("other"), "copied").metadata == {"k": "v"}
    assert bucket.blob("re").rewrite(blob) == (None, 1, 1)
    bucket.rename_blob(bucket.blob("re"), "renamed")
    both = bucket.blob("both")
    both.compose([bucket.blob("x"), bucket.blob("renamed")])
    assert both.download_as_bytes() == b"xx" and not bucket.blob("re").exists()
    with client.batch():
        bucket.blob("both").delete()
        bucket.blob("renamed").delete()
    assert [blob.name for blob in client.list_blobs("changes")] == ["x"]


def refusals(client):
    bucket = client.bucket("refusals")
    blob = bucket.blob("x")
    blob.upload_from_string("x")
    for call in [
        lambda: blob.upload_from_string("y", if_generation_match=0),
        lambda: blob.delete(if_generation_match=1),
        lambda: bucket.blob("z").upload_from_file(io.BytesIO(DATA), size=len(DATA), if_generation_match=7),
    ]:
        try:
            call()
        except exceptions.PreconditionFailed:
            continue
        raise AssertionError("a precondition does not hold")
    try:
        bucket.blob("none").download_as_bytes()
    except exceptions.NotFound as error:
        assert "No such object: refusals/none" in str(error)
    blob.delete(if_generation_match=blob.generation)
    assert not blob.exists()


def buckets(client):
    client.create_bucket("made")
    assert "made" in [bucket.name for bucket in client.list_buckets()]
    client.get_bucket("made").delete()
    assert "made" not in [bucket.name for bucket in client.list_buckets()]


class Nobody(credentials.Base):
    def get_credential(self):
        return AnonymousCredentials()


def firebase():
    firebase_admin.initialize_app(Nobody(), {"storageBucket": "admin", "projectId": "p"})
    bucket = admin.bucket()
    bucket.blob("x.txt").upload_from_string("hi")
    assert [blob.name for blob in bucket.list_blobs()] == ["x.txt"]
    assert bucket.blob("x.txt").download_as_bytes() == b"hi"


def files():
    system = gcsfs.GCSFileSystem(token="anon", endpoint_url=os.environ["STORAGE_EMULATOR_HOST"])
    with system.open("files/one", "wb") as file:
        file.write(DATA[:3_000_000])
    assert system.cat("files/one") == DATA[:3_000_000]
    system.pipe("files/d/two", b"two")
    system.copy("files/d/two", "files/three")
    system.rm("files/d/two")
    assert system.find("files") == ["files/one", "files/three"] and system.cat("files/three") == b"two"


if __name__ == "__main__":
    cloud = storage.Client(project="p", credentials=AnonymousCredentials())
    for test in [uploads_and_downloads, packed, signed, lists, changes, refusals, buckets]:
        test(cloud)
    firebase()
    files()
