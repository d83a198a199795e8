"""What users of google-cloud-storage, firebase-admin and gcsfs do, and those of Amazon S3's clients boto3, AWS CRT, s3fs,
pyarrow (the AWS SDK for C++), rclone and s5cmd (those for Go), s3cmd and libcloud, against the gateway at
STORAGE_EMULATOR_HOST."""

import filecmp
import gzip
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

import awscrt.auth
import awscrt.http
import awscrt.io
import awscrt.s3
import boto3
import botocore.exceptions
import firebase_admin
import gcsfs
import pyarrow
import pyarrow.dataset
import pyarrow.fs
import requests
import s3fs
from boto3.s3.transfer import TransferConfig
from firebase_admin import credentials
from firebase_admin import storage as admin
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage
from google.cloud.storage import transfer_manager
from libcloud.storage.providers import get_driver
from libcloud.storage.types import Provider

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


def refused(status, call, **params):
    try:
        call(**params)
    except botocore.exceptions.ClientError as error:
        assert error.response["ResponseMetadata"]["HTTPStatusCode"] == status, error
        return
    raise AssertionError(f"{params} is not refused")


def amazon():
    client, bucket = boto3.client("s3"), "amazon"
    client.create_bucket(Bucket=bucket)
    config = TransferConfig(multipart_chunksize=8 * MIB)
    for checksum in ["CRC32", "CRC32C", "SHA256"]:
        client.upload_fileobj(io.BytesIO(DATA), bucket, "film", ExtraArgs={"ChecksumAlgorithm": checksum}, Config=config)
        read = io.BytesIO()
        client.download_fileobj(bucket, "film", read, Config=config)
        assert read.getvalue() == DATA
    assert client.head_object(Bucket=bucket, Key="film")["ContentLength"] == len(DATA)
    put = client.put_object(Bucket=bucket, Key="a b+ü", Body=b"hello", Metadata={"k": "v"}, IfNoneMatch="*")
    refused(412, client.put_object, Bucket=bucket, Key="a b+ü", Body=b"", IfNoneMatch="*")
    refused(412, client.delete_object, Bucket=bucket, Key="a b+ü", IfMatch='"x"')
    client.copy({"Bucket": bucket, "Key": "a b+ü"}, bucket, "copy")
    copied = client.get_object(Bucket=bucket, Key="copy", IfMatch=put["ETag"], Range="bytes=1-3")
    assert copied["Body"].read() == b"ell" and copied["Metadata"] == {"k": "v"}
    client.copy({"Bucket": bucket, "Key": "film"}, bucket, "copied film", Config=TransferConfig(multipart_threshold=8 * MIB))
    assert client.get_object(Bucket=bucket, Key="copied film")["Body"].read() == DATA
    form = client.generate_presigned_post(bucket, "d/${filename}", Conditions=[["content-length-range", 1, 9]])
    assert requests.post(form["url"], form["fields"], files={"file": ("f.txt", b"form")}).status_code == 204
    url = client.generate_presigned_url("get_object", {"Bucket": bucket, "Key": "d/f.txt"})
    assert requests.get(url).content == b"form"
    listed = client.list_objects_v2(Bucket=bucket, Delimiter="/")
    assert [entry["Prefix"] for entry in listed["CommonPrefixes"]] == ["d/"]
    assert [entry["Key"] for entry in listed["Contents"]] == ["a b+ü", "copied film", "copy", "film"]
    names = [page["Key"] for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, MaxKeys=2).search("Contents")]
    deleted = client.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": name} for name in names]})
    assert len(deleted["Deleted"]) == len(names) == 5
    client.delete_bucket(Bucket=bucket)


def common_runtime():
    """AWS CRT, the transfers of several AWS SDKs and tools. boto3 uses it with TLS alone."""
    address = os.environ["AWS_ENDPOINT_URL"].removeprefix("http://")
    loop = awscrt.io.EventLoopGroup(1)
    client = awscrt.s3.S3Client(
        bootstrap=awscrt.io.ClientBootstrap(loop, awscrt.io.DefaultHostResolver(loop)), region="us-east-1",
        credential_provider=awscrt.auth.AwsCredentialsProvider.new_static("k", "s"),
        tls_mode=awscrt.s3.S3RequestTlsMode.DISABLED, part_size=5 * MIB)
    with tempfile.TemporaryDirectory() as place:
        source, target = f"{place}/source", f"{place}/target"
        with open(source, "wb") as file:
            file.write(DATA)
        for name in ["CRC32C", "CRC32", "SHA1", "SHA256", "CRC64NVME"]:
            checksum = awscrt.s3.S3ChecksumConfig(
                algorithm=awscrt.s3.S3ChecksumAlgorithm[name], location=awscrt.s3.S3ChecksumLocation.TRAILER)
            headers = awscrt.http.HttpHeaders([("Host", address), ("Content-Length", str(len(DATA)))])
            put = awscrt.http.HttpRequest("PUT", f"/common/{name}", headers)
            client.make_request(
                type=awscrt.s3.S3RequestType.PUT_OBJECT, request=put, send_filepath=source, checksum_config=checksum
            ).finished_future.result(120)
            get = awscrt.http.HttpRequest("GET", f"/common/{name}", awscrt.http.HttpHeaders([("Host", address)]))
            client.make_request(
                type=awscrt.s3.S3RequestType.GET_OBJECT, request=get, recv_filepath=target
            ).finished_future.result(120)
            with open(target, "rb") as file:
                assert file.read() == DATA


def amazon_files():
    system = s3fs.S3FileSystem(endpoint_url=os.environ["AWS_ENDPOINT_URL"])
    with system.open("amazon-files/d/film", "wb") as file:
        file.write(DATA)
    system.cp("amazon-files/d/film", "amazon-files/e/copy")
    system.mv("amazon-files/e/copy", "amazon-files/e/film")
    system.pipe("amazon-files/new", b"new", mode="create")
    try:
        system.pipe("amazon-files/new", b"other", mode="create")
        raise AssertionError("an object is replaced")
    except FileExistsError:
        pass
    assert system.find("amazon-files") == ["amazon-files/d/film", "amazon-files/e/film", "amazon-files/new"]
    assert system.cat("amazon-files/e/film") == DATA and system.cat("amazon-files/new") == b"new"
    system.rm("amazon-files", recursive=True)
    assert not system.exists("amazon-files")


def arrow():
    endpoint = os.environ["AWS_ENDPOINT_URL"].removeprefix("http://")
    system = pyarrow.fs.S3FileSystem(
        endpoint_override=endpoint, scheme="http", allow_bucket_creation=True, allow_bucket_deletion=True)
    with system.open_output_stream("arrow-files/d/film") as file:
        file.write(DATA)
    with system.open_input_file("arrow-files/d/film") as file:
        file.seek(5_000_000)
        assert file.read(100) == DATA[5_000_000:5_000_100]
    system.move("arrow-files/d/film", "arrow-files/d/moved")
    assert [info.path for info in system.get_file_info(pyarrow.fs.FileSelector("arrow-files/d"))] == ["arrow-files/d/moved"]
    table = pyarrow.table({"k": [number % 3 for number in range(30_000)], "v": list(range(30_000))})
    pyarrow.dataset.write_dataset(
        table, "arrow-files/set", format="parquet", partitioning=["k"], partitioning_flavor="hive", filesystem=system)
    read = pyarrow.dataset.dataset("arrow-files/set", filesystem=system, partitioning="hive")
    assert read.to_table(filter=pyarrow.dataset.field("k") == 1).num_rows == 10_000
    system.delete_dir("arrow-files")
    assert system.get_file_info("arrow-files").type == pyarrow.fs.FileType.NotFound


def programs():
    """Programs that users type: a tree goes up, is copied on the server, and comes back."""
    endpoint = os.environ["AWS_ENDPOINT_URL"]
    rclone = {"TYPE": "s3", "PROVIDER": "Other", "ENV_AUTH": "true", "ENDPOINT": endpoint, "REGION": "us-east-1"}
    environment = os.environ | {f"RCLONE_CONFIG_S3_{name}": value for name, value in rclone.items()}

    def run(program, words):
        for command in words.strip().splitlines():
            command = [pathlib.Path(sys.executable).parent / program[0], *program[1:], *command.split()]
            outcome = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, timeout=300)
            assert outcome.returncode == 0, f"{command}: {outcome.stdout}{outcome.stderr}"

    def is_back(directory):
        compared = filecmp.dircmp(f"{place}/tree", f"{place}/{directory}")
        _, wrong, missing = filecmp.cmpfiles(compared.left, compared.right, ["film", "empty", "d/é+%"], shallow=False)
        assert not (wrong or missing or compared.right_only), f"{directory}: {wrong} {missing}"

    with tempfile.TemporaryDirectory() as place:
        tree = pathlib.Path(place, "tree")
        (tree / "d").mkdir(parents=True)
        for name, size in [("film", len(DATA)), ("empty", 0), ("d/é+%", 5)]:
            (tree / name).write_bytes(DATA[:size])
        run(["rclone", "--s3-use-multipart-etag", "true", "--s3-upload-cutoff", "8M"], """
            mkdir s3:rclone
            copy tree s3:rclone/up
            check --download tree s3:rclone/up
            copy s3:rclone/up s3:rclone/copied
            moveto s3:rclone/copied/film s3:rclone/copied/moved
            copyto s3:rclone/copied/moved s3:rclone/copied/film --s3-copy-cutoff 8M
            deletefile s3:rclone/copied/moved
            copy s3:rclone/copied rclone
            purge s3:rclone""")
        is_back("rclone")
        run(["s5cmd", "--endpoint-url", endpoint], """
            mb s3://five
            cp tree/ s3://five/up/
            cp s3://five/up/d/* s3://five/copied/d/
            mv s3://five/up/film s3://five/copied/film
            sync tree/ s3://five/copied/
            cp s3://five/copied/* five/
            rm s3://five/*
            rb s3://five""")
        is_back("five")
        host = endpoint.removeprefix("http://")
        run(["s3cmd", "--config=/dev/null", "--no-ssl", f"--host={host}", "--host-bucket=", "--access_key=k",
             "--secret_key=s", "--multipart-chunk-size-mb=8"], """
            mb s3://s3cmd
            put --recursive tree/ s3://s3cmd/up/
            info s3://s3cmd/up/film
            info s3://s3cmd
            cp s3://s3cmd/up/film s3://s3cmd/film
            modify --add-header=x-amz-meta-k:v s3://s3cmd/film
            sync s3://s3cmd/up/ s3cmd/
            multipart s3://s3cmd
            del --recursive --force s3://s3cmd
            rb s3://s3cmd""")
        is_back("s3cmd")
        address, port = host.split(":")
        driver = get_driver(Provider.S3)("k", "s", host=address, port=int(port), secure=False, region="us-east-1")
        container = driver.create_container("libcloud")
        driver.upload_object(f"{place}/tree/film", container, "a b/film", extra={"meta_data": {"k": "v"}})
        driver.upload_object_via_stream(iter([DATA[:6_000_000], DATA[6_000_000:]]), container, "stream")
        assert sorted(entry.name for entry in container.list_objects()) == ["a b/film", "stream"]
        assert driver.get_object("libcloud", "a b/film").meta_data == {"k": "v"}
        assert b"".join(driver.download_object_as_stream(driver.get_object("libcloud", "stream"))) == DATA
        for entry in container.list_objects():
            entry.delete()
        container.delete()


if __name__ == "__main__":
    keys = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_DEFAULT_REGION": "us-east-1"}
    os.environ.update(keys, AWS_ENDPOINT_URL=os.environ["STORAGE_EMULATOR_HOST"], AWS_EC2_METADATA_DISABLED="true")
    cloud = storage.Client(project="p", credentials=AnonymousCredentials())
    for test in [uploads_and_downloads, packed, signed, lists, changes, refusals, buckets]:
        test(cloud)
    firebase()
    files()
    amazon()
    common_runtime()
    amazon_files()
    arrow()
    programs()
