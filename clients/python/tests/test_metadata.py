from __future__ import annotations

import dataclasses
import datetime

from storage_rpc import Metadata, ObjectNotFound, RPCError

from .support import StorageTestCase


class MetadataTests(StorageTestCase):
    def test_what_is_stored(self) -> None:
        begin = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=1)
        stored = self.storage.reference("images/space.png").put_data(b"123456789").wait()
        self.assertEqual(
            (stored.bucket, stored.full_path, stored.name), ("default-bucket", "images/space.png", "space.png")
        )
        self.assertEqual((stored.size, stored.crc32c, stored.content_type), (9, "4waSgw==", "image/png"))
        self.assertEqual((stored.metageneration, stored.custom_metadata, stored.cache_control), ("1", {}, None))
        assert stored.time_created and stored.updated
        self.assertLess(begin, stored.time_created)
        self.assertEqual(stored.time_created, stored.updated)
        self.assertEqual(hash(stored), hash(self.storage.reference("images/space.png").get_metadata()))

    def test_set_keep_and_remove(self) -> None:
        reference = self.storage.reference("x")
        first = reference.put_data(
            b"x", metadata={"content_language": "en", "custom_metadata": {"a": "1", "b": "2"}}
        ).wait()
        second = reference.update_metadata({"cache_control": "no-store", "custom_metadata": {"b": None, "c": "3"}})
        self.assertEqual((second.cache_control, second.content_language), ("no-store", "en"))
        self.assertEqual(second.custom_metadata, {"a": "1", "c": "3"})
        self.assertEqual((second.generation, second.metageneration), (first.generation, "2"))
        third = reference.update_metadata({"cache_control": None, "custom_metadata": None, "content_type": None})
        self.assertEqual((third.cache_control, third.custom_metadata, third.content_language), (None, {}, "en"))
        self.assertEqual(third, reference.get_metadata())

    def test_an_edited_copy(self) -> None:
        reference = self.storage.reference("x")
        stored = reference.put_data(b"x", metadata={"custom_metadata": {"a": "1"}}).wait()
        edited = reference.update_metadata(dataclasses.replace(stored, content_type="text/x-own"))
        self.assertEqual((edited.content_type, edited.custom_metadata, edited.size), ("text/x-own", {"a": "1"}, 1))
        copy = self.storage.reference("y").put_data(b"y", metadata=Metadata(content_type=edited.content_type)).wait()
        self.assertEqual(copy.content_type, "text/x-own")

    def test_refusals(self) -> None:
        with self.assertRaises(ObjectNotFound) as caught:
            self.storage.reference("images/none").get_metadata()
        self.assertEqual(caught.exception.data["object"], "images/none")
        self.assertFalse(caught.exception.retryable)
        with self.assertRaises(ObjectNotFound):
            self.storage.reference("images/none").update_metadata({"content_type": "a/b"})
        for change in ({"content_type": 1}, {"what": "x"}, {"custom_metadata": {"a": 1}}):
            with self.subTest(change=change), self.assertRaises(RPCError):
                self.storage.reference("x").update_metadata(change)

    def test_a_new_service_on_the_same_root(self) -> None:
        stored = self.storage.reference("kept").put_data(b"kept", metadata={"custom_metadata": {"ä": "☃"}}).wait()
        self.storage.close()
        self.assertEqual(self.start().reference("kept").get_metadata(), stored)
