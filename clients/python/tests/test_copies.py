from __future__ import annotations

from storage_rpc import InvalidArgument, ObjectNotFound, PreconditionFailed

from .aio_support import AsyncTestCase
from .support import Heard, StorageTestCase


class CopyTests(StorageTestCase):
    def test_a_copy_keeps_the_metadata_or_gets_others(self) -> None:
        source = self.storage.reference("a")
        stored = source.put_data(b"abc", metadata={"custom_metadata": {"k": "v"}}).wait()
        heard = Heard()
        copy = source.copy(self.storage.reference("b"), on_progress=heard).wait()
        self.assertEqual((copy.name, copy.md5_hash, copy.custom_metadata), ("b", stored.md5_hash, {"k": "v"}))
        last = heard.snapshots[-1]
        self.assertEqual((last.source, last.is_move, last.reference.name), (source, False, "b"))
        other = source.copy("gs://archive/b", metadata={"content_type": "a/b"}).wait()
        self.assertEqual((other.bucket, other.content_type, dict(other.custom_metadata)), ("archive", "a/b", {}))

    def test_a_move_takes_the_object_away(self) -> None:
        source = self.storage.reference("a")
        source.put_data(b"abc").wait()
        with self.assertRaises(PreconditionFailed):
            source.move(f"gs://{source.bucket}/b", if_source_generation_match=7).wait()
        task = source.move(self.storage.reference("b"))
        self.assertEqual((task.wait().name, task.snapshot().is_move), ("b", True))
        with self.assertRaises(ObjectNotFound):
            source.get_metadata()
        with self.assertRaises(InvalidArgument):
            self.storage.reference("b").move(self.storage.reference("b"))

    def test_anything_but_a_reference_is_refused(self) -> None:
        for wrong in (None, 3, b"gs://b/c"):
            with self.assertRaises(TypeError):
                self.storage.reference("a").copy(wrong)  # type: ignore[arg-type]


class AsyncCopyTests(AsyncTestCase):
    async def test_copies_and_moves_are_awaited(self) -> None:
        storage = await self.open()
        source = storage.reference("a")
        await source.put_data(b"abc")
        self.assertEqual((await source.copy(storage.reference("b"))).size, 3)
        self.assertEqual((await source.move(f"gs://{source.bucket}/c")).name, "c")
        self.assertEqual([item.name for item in (await storage.reference().list_all()).items], ["b", "c"])
