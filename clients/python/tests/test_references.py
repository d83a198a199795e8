from __future__ import annotations

from collections.abc import Callable
from typing import Any

from storage_rpc import BucketMismatch, InvalidArgument, PathError, RPCError

from .support import StorageTestCase


class ReferenceTests(StorageTestCase):
    def test_navigation(self) -> None:
        images = self.storage.reference("images")
        space = images.child("space.jpg")
        self.assertEqual(
            (space.bucket, space.full_path, space.name), ("default-bucket", "images/space.jpg", "space.jpg")
        )
        self.assertEqual(space.url, "gs://default-bucket/images/space.jpg")
        self.assertEqual(str(space), space.url)
        self.assertEqual(space.parent(), images)
        self.assertEqual(space.root(), self.storage.reference())
        self.assertIsNone(self.storage.reference().parent())
        self.assertEqual(space.child("/a//b/").full_path, "images/space.jpg/a/b")

    def test_equal_places_are_equal_values(self) -> None:
        a, b = self.storage.reference("a/b"), self.storage.reference("/a//b")
        self.assertEqual(a, b)
        self.assertEqual(len({a, b}), 1)
        self.assertNotEqual(a, self.storage.reference("a/b", bucket="other"))

    def test_an_exact_name_is_an_object_of_its_own(self) -> None:
        exact = self.storage.reference(object="folder/")
        self.assertEqual((exact.full_path, exact.object), ("folder", "folder/"))
        self.assertNotEqual(exact, self.storage.reference("folder"))
        exact.put_data("x").wait()
        self.assertEqual(exact.get_metadata().object, "folder/")
        self.assertEqual(self.storage.reference("folder").list().items, ())
        [listed] = self.storage.reference("folder").list_all(exact=True).items
        self.assertEqual(listed, exact)
        self.assertEqual(listed.get_data(1), b"x")
        listed.delete()
        self.assertIsNone(self.storage.reference(object="a/b").object)
        with self.assertRaises(ValueError):
            self.storage.reference("a", object="a/")

    def test_urls(self) -> None:
        self.assertEqual(self.storage.reference_for_url("gs://b/a%20b").full_path, "a%20b")
        download = "https://firebasestorage.googleapis.com/v0/b/b/o/images%2Fspace.jpg?alt=media"
        self.assertEqual(self.storage.reference_for_url(download).full_path, "images/space.jpg")
        with self.assertRaises(PathError):
            self.storage.reference_for_url("ftp://b/a")
        with self.assertRaises(BucketMismatch):
            self.storage.call("storage/reference", url="gs://b/a", bucket="other")

    def test_what_begins_as_a_url_is_one_everywhere(self) -> None:
        urls = ["gs://b/images/space.jpg", "https://firebasestorage.googleapis.com/v0/b/b/o/images%2Fspace.jpg?alt=media"]
        for url in urls:
            place = self.storage.reference(url)
            self.assertEqual((place.bucket, place.full_path), ("b", "images/space.jpg"))
            self.assertEqual(self.storage.reference(url, bucket="b"), place)
            with self.assertRaises(BucketMismatch):
                self.storage.reference(url, bucket="other")
        for url in ("ftp://b/a", "GS://b/a", "https://example.com/a"):
            with self.assertRaises(PathError):
                self.storage.reference(url)
        self.assertEqual(self.storage.reference("a b://c").full_path, "a b:/c")

    def test_what_is_no_path_and_no_id_is_named(self) -> None:
        storage: Any = self.storage
        calls: list[tuple[Callable[[], object], str]] = [
            (lambda: storage.reference(None), "The path of an object, or its URL, is a text, not NoneType."),
            (lambda: storage.reference(b"a"), "The path of an object, or its URL, is a text, not bytes."),
            (lambda: storage.upload_task(5), "The id of a task is a text, not int."),
            (lambda: storage.call("service/ping", {}), "A timeout is a number of seconds, not dict."),
        ]
        for call, what in calls:
            with self.assertRaises(TypeError) as refused:
                call()
            self.assertEqual(str(refused.exception), what)

    def test_urls_of_s3_need_its_engine(self) -> None:
        url = "https://b.s3.eu-central-1.amazonaws.com/k%20x"
        advice = 'names an object of Amazon S3: add engine="s3"; for this disk write gs://b/k x'
        for use in (self.storage.reference, self.storage.reference_for_url, self.storage.reference("a").move):
            with self.assertRaises(PathError) as refused:
                use(url)
            self.assertEqual(refused.exception.message, f"{url} {advice}")
        flags = ["--anonymous", "--bucket", "b"]
        s3 = self.start(command=None, engine="s3", endpoint="https://s3.test", root=self.directory / "s3", flags=flags)
        for text in (url, "s3://b/k x", "https://s3.test/b/k%20x"):
            self.assertEqual(s3.reference(text).url, "gs://b/k x")

    def test_warnings_and_limits(self) -> None:
        self.assertEqual(self.storage.reference("fine").warnings, ())
        self.assertNotEqual(self.storage.reference("what?").warnings, ())
        self.assertEqual(self.storage.reference("ü" * 512).name, "ü" * 512)
        for path in ("ü" * 513, "a\nb", "a\rb"):
            with self.assertRaises(InvalidArgument):
                self.storage.reference(path)

    def test_the_session_s_bucket(self) -> None:
        other = self.start(root=self.directory / "other", bucket="pictures")
        self.assertEqual(other.default_bucket, "pictures")
        self.assertEqual(other.reference("a").url, "gs://pictures/a")
        self.assertEqual(other.reference("a", bucket="films").url, "gs://films/a")

    def test_all_objects_below_are_walked_and_listed_with_metadata(self) -> None:
        self.storage.harness.seed(generate={"reference": "gs://default-bucket/all/{n}/x", "count": 1001, "size": 2})
        everything = self.storage.reference("all")
        self.assertEqual(len({item.full_path for item in everything.walk()}), 1001)
        listing = everything.list_all(recursive=True, metadata=True)
        self.assertEqual([one.full_path for one in listing.metadata], [item.full_path for item in listing.items])
        self.assertEqual((len(listing.items), listing.metadata[1000].size, listing.page_token), (1001, 2, None))
        folders = everything.list_all(metadata=True)
        self.assertEqual((len(folders.prefixes), folders.items, folders.metadata), (1001, (), ()))

    def test_settings(self) -> None:
        self.assertEqual(self.storage.settings.max_upload_retry_time, 600)
        self.assertIsNone(self.storage.settings.upload_chunk_size_bytes)
        changed = self.storage.update_settings(max_upload_retry_time=30, upload_chunk_size_bytes=1)
        self.assertEqual((changed.max_upload_retry_time, changed.upload_chunk_size_bytes), (30, 256 << 10))
        self.assertEqual(self.storage.settings, changed)

    def test_what_the_service_refuses(self) -> None:
        with self.assertRaises(RPCError) as caught:
            self.storage.call("storage/updateSettings", noSuchSetting=1)
        self.assertEqual((caught.exception.code, caught.exception.name), (-32602, "invalidParams"))
        self.assertIn("noSuchSetting", caught.exception.message)
        with self.assertRaises(RPCError) as caught:
            self.storage.call("no/such")
        self.assertEqual(caught.exception.name, "methodNotFound")
