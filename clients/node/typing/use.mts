/** What people write: it is compiled, and never run. */
import { ServiceGoneError, Storage, StorageError, UploadTask } from "storage-rpc-client";
import type { FolderItem, FolderSnapshot, Metadata, Snapshot, State } from "storage-rpc-client";

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

const folder = space.putDirectory("images", {
  include: ["*.jpg"],
  dryRun: true,
  metadata: { cacheControl: "no-store" },
  onProgress: ({ files }) => console.log(files.completed, files.total),
});
folder.on("failure", ({ failures }: FolderSnapshot) => console.log(failures?.[0]?.error?.reason));
const refused: FolderItem[] = [];
for await (const item of folder.items({ states: ["refused", "failed"] })) refused.push(item);
const planned: boolean = (await folder.wait()).isPlanned && (await folder.retry());
await space.writeToDirectory(new URL("file:///tmp/images"), {
  changed: true, delete: true, ifGenerationMatch: 0, atOnce: 4, key: "images",
}).wait();
const [{ files }] = (await storage.folderTasks()) as [FolderSnapshot];
await space.copyAll("gs://default-bucket/copy", { exclude: ["*.tmp"], changed: true, keepItems: true }).wait();
await space.moveAll(space.child("new"), { others: [{ reference: "a", to: "b", isObject: true }], key: "new" }).wait();
await space.root().deleteAll({ everything: true }).wait();

async function* lines() {
  yield "a line";
}
const streamed: Metadata = await space.putStream(lines(), { size: 6, md5Hash: "…" }).wait();
const stream = space.putStream();
storage.uploadTask(id).stream({ offset: (await task.snapshot()).offset ?? 0, md5Hash: "…" }).end();
stream.write(new Uint8Array(3));
stream.end("the end");
const read = space.getStream({ offset: 3 });
for await (const piece of read) console.log(piece.length);
const verified: boolean | undefined = read.verified;
const last: number | undefined = (await read.readAt((await read.size()) - 8, 8))[0];
console.log(last);
console.log(refused.length, planned, files.deleted, streamed.size, await stream.task.wait(), verified);

try {
  await space.updateMetadata({ cacheControl: null });
} catch (error) {
  if (error instanceof ServiceGoneError) console.log(error.exitCode, error.stderr.at(-1));
  else if (error instanceof StorageError && error.code === "ENOENT") console.log(error.path?.length, error.errno);
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
// @ts-expect-error: there is no such state of a file.
folder.items({ states: ["running"] });
// @ts-expect-error: only a folder has a directory.
(await task.snapshot()).directory;
// @ts-expect-error: numbers are no bytes.
space.putStream([1, 2]);
