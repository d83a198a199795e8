/** What people write: it is compiled, and never run. */
import { ServiceGoneError, Storage, StorageError, UploadTask } from "storage-rpc-client";
import type { Metadata, Snapshot, State } from "storage-rpc-client";

const storage: Storage = await Storage.spawn({ program: "storage-rpc", args: ["--root", "x"], shared: false, bucket: "photos" });
const space = storage.reference("images/space.jpg");
const parent: string | undefined = space.parent()?.child("moon.jpg").fullPath;

const task: UploadTask = space.putFile(new URL("file:///tmp/space.jpg"), {
  metadata: { contentType: "image/jpeg", customMetadata: { activity: null } },
  observe: { failure: ({ error }) => console.log(error?.code, error?.reason) },
  onProgress: ({ progress }) => console.log(progress.fractionCompleted.toFixed(2)),
  signal: new AbortController().signal,
});
task.on("pause", (snapshot: Snapshot) => void snapshot.task.resume());
for await (const { state, metadata } of task) {
  const shown: State = state;
  console.log(shown, metadata?.contentType);
}
const [id, accepted, forgotten]: [string, boolean, boolean] = [await task.started(), await task.pause(), await task.forget()];
const metadata: Metadata = await task.wait({ signal: new AbortController().signal });
const handle: string = await task.observe("progress", ({ retry }) => retry?.attempt);
const removed: number = await task.removeAllObservers("progress");
const { items, pageToken } = await space.root().list({ maxResults: 10 });
const bytes: Uint8Array = await items[0]!.getData(1024);
const version: string = (await storage.request("service/status")).version;

try {
  await space.updateMetadata({ cacheControl: null });
} catch (error) {
  if (error instanceof ServiceGoneError) console.log(error.exitCode, error.stderr.at(-1));
  else if (error instanceof StorageError) console.log(error.code, error.reason, error.retryable);
}
await storage.close({ drain: false });
console.log(parent, id, accepted, forgotten, metadata.size, handle, removed, pageToken, bytes.length, version);

// @ts-expect-error: there is no such event.
task.on("error", () => {});
// @ts-expect-error: custom metadata are strings.
space.putData("", { metadata: { customMetadata: { size: 1 } } });
// @ts-expect-error: params are those of the method.
await storage.request("reference/list", { maxResults: "10" });
// @ts-expect-error: tasks are begun by references.
new UploadTask();
// @ts-expect-error: the size is a number.
const size: string = metadata.size;
