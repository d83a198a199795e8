/** Folders as one task. */
import assert from "node:assert/strict";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { FolderTask, StorageError } from "../index.js";
import { MIB, check, course, hearing, holdAt } from "./support.js";

const FILES = { "a.txt": "alpha", "b.jpg": "beta", "deep/c.txt": "gamma" };

/** A directory with these files. */
async function tree(room, files = FILES, name = "tree") {
  const directory = join(room.directory, name);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(directory, path, ".."), { recursive: true });
    await writeFile(join(directory, path), text);
  }
  return directory;
}

async function collected(iterable) {
  const all = [];
  for await (const one of iterable) all.push(one);
  return all;
}

const paths = (items) => items.map((one) => one.path).sort();

check("a directory is uploaded as one task", async (room) => {
  const storage = await room.spawn();
  const folder = storage.reference("photos");
  const task = folder.putDirectory(await tree(room), { metadata: { cacheControl: "no-store" } });
  assert.ok(task instanceof FolderTask);
  const heard = hearing(task);
  const { kind, files, progress, isPlanned, reference, directory } = await task.wait();
  assert.deepEqual([kind, isPlanned, progress.completedUnitCount], ["put", true, 14]);
  assert.deepEqual(files, { total: 3, completed: 3, unchanged: 0, toDelete: 0, deleted: 0, refused: 0, failed: 0 });
  assert.ok(reference.isEqual(folder) && directory === join(room.directory, "tree"));
  assert.deepEqual([course(heard).at(0), course(heard).at(-1)], ["resume", "success"]);
  assert.ok(heard.every((one) => one.task === task));
  assert.equal((await folder.child("deep/c.txt").getData(10)).toString(), "gamma");
  assert.equal((await folder.child("a.txt").getMetadata()).cacheControl, "no-store");
  assert.equal(storage.folderTask(task.id), task);
  assert.deepEqual((await storage.folderTasks()).map((one) => one.task), [task]);
  assert.equal(await task.forget(), true);
});

check("only what patterns name is taken", async (room) => {
  const storage = await room.spawn();
  const directory = pathToFileURL(await tree(room));
  await storage.reference("text").putDirectory(directory, { include: ["*.txt"], exclude: ["deep/"] }).wait();
  const { items } = await storage.reference("text").list({ recursive: true });
  assert.deepEqual(items.map((one) => one.name), ["a.txt"]);
  const none = storage.reference("x");
  assert.throws(() => none.putDirectory(directory, { includes: [] }), /did you mean include\?/);
  assert.throws(() => none.writeToDirectory(directory, { metadata: {} }), TypeError);
  assert.throws(() => none.putDirectory(""), TypeError);
  await assert.rejects(none.putDirectory(directory, { include: "*.txt" }).wait(), { reason: "invalidParams" });
});

check("a folder is downloaded", async (room) => {
  const storage = await room.spawn();
  await storage.reference("a/b.txt").putData("It rained.").wait();
  await storage.reference("a/c/d.txt").putData("It did.").wait();
  const target = join(room.directory, "target");
  const snapshots = await collected(storage.reference("a").writeToDirectory(target));
  assert.equal(snapshots.at(-1).files.completed, 2);
  assert.equal(await readFile(join(target, "b.txt"), "utf8"), "It rained.");
  assert.equal(await readFile(join(target, "c/d.txt"), "utf8"), "It did.");
});

check("a dry run has the plan, and a mirror deletes", async (room) => {
  const storage = await room.spawn();
  const folder = storage.reference("mirror");
  await folder.child("old.txt").putData("old").wait();
  const plan = folder.putDirectory(await tree(room), { delete: true, dryRun: true });
  assert.equal((await plan.wait()).dryRun, true);
  const planned = await collected(plan.items());
  assert.deepEqual(paths(planned), ["a.txt", "b.jpg", "deep/c.txt", "old.txt"]);
  const old = planned.find((one) => one.path === "old.txt");
  assert.ok(old.action === "delete" && old.reference.isEqual(folder.child("old.txt")));
  assert.equal((await folder.list()).items.length, 1);
  const { files } = await folder.putDirectory(await tree(room), { delete: true }).wait();
  assert.deepEqual([files.completed, files.deleted], [3, 1]);
  await assert.rejects(folder.child("old.txt").getMetadata(), { reason: "objectNotFound" });
});

check("a folder is copied and moved below another one", async (room) => {
  const storage = await room.spawn();
  for (const name of ["a/b", "a/c/d", "e"]) await storage.reference(name).putData(name).wait();
  const copy = storage.reference("a").copyAll(storage.reference("x"), { keepItems: true });
  const end = await copy.wait();
  assert.deepEqual([end.kind, end.files.completed], ["copy", 2]);
  const copied = [];
  for await (const item of copy.items()) copied.push(item.path);
  assert.deepEqual(copied, ["x/b", "x/c/d"]);
  const { files, to } = await storage.reference("a").moveAll("gs://default-bucket/y").wait();
  assert.deepEqual([files.completed, to.fullPath], [2, "y"]);
  const names = (await storage.reference().listAll({ recursive: true })).items.map((item) => item.fullPath);
  assert.deepEqual(names, ["e", "x/b", "x/c/d", "y/b", "y/c/d"]);
  await assert.rejects(storage.reference("x").moveAll(storage.reference("x/z")).wait(), { reason: "invalidArgument" });
});

check("what is below a folder is deleted, and all only if that is said", async (room) => {
  const storage = await room.spawn();
  for (const name of ["a/b", "a/c", "d"]) await storage.reference(name).putData(name).wait();
  assert.equal((await storage.reference("a").deleteAll().wait()).files.deleted, 2);
  await assert.rejects(storage.reference().deleteAll().wait(), { reason: "invalidArgument" });
  await storage.reference().deleteAll({ everything: true }).wait();
  assert.deepEqual((await storage.reference().listAll()).items, []);
});

check("the error says what is refused", async (room) => {
  const storage = await room.spawn();
  const directory = await tree(room);
  await symlink("a.txt", join(directory, "link"));
  const task = storage.reference("x").putDirectory(directory);
  const { files, failures } = await task.wait();
  assert.deepEqual([files.completed, files.refused], [3, 1]);
  const refused = await collected(task.items({ states: ["refused", "failed"] }));
  assert.deepEqual(paths(refused), ["link"]);
  for (const { error } of [refused[0], failures[0]]) assert.ok(error instanceof StorageError && error.message);
  await assert.rejects(task.items({ state: [] }).next(), /did you mean states\?/);
});

check("a folder is paused, and resumes", async (room) => {
  const storage = await room.spawn();
  await storage.updateSettings({ uploadChunkSizeBytes: 256 << 10 });
  await holdAt(storage, MIB);
  await room.largeFile();
  const directory = room.directory;
  const task = storage.reference("x").putDirectory(directory, { include: ["large.bin"] });
  await task.started();
  await storage.request("harness/settled");
  assert.equal(await task.pause(), true);
  assert.equal((await task.snapshot()).state, "paused");
  await storage.request("harness/disarm");
  assert.equal(await task.resume(), true);
  assert.equal((await task.wait()).files.completed, 1);
  assert.equal(await task.cancel(), false);
});

check("a folder that is cancelled fails", async (room) => {
  const storage = await room.spawn();
  await holdAt(storage, MIB);
  await room.largeFile();
  const signal = new AbortController();
  const task = storage.reference("x").putDirectory(room.directory, { include: ["large.bin"], signal: signal.signal });
  await task.started();
  signal.abort("enough");
  await assert.rejects(task.wait(), { reason: "cancelled", cause: "enough" });
});

check("what has failed is tried again, by the same task", async (room) => {
  const storage = await room.spawn();
  await storage.request("harness/arm", { on: ["whole", "send"], reference: "**/b.jpg", do: { fail: { httpStatus: 400 } } });
  const task = storage.reference("x").putDirectory(await tree(room));
  const heard = hearing(task);
  await assert.rejects(task.wait(), StorageError);
  assert.deepEqual(paths(await collected(task.items({ states: ["failed"] }))), ["b.jpg"]);
  assert.equal((await task.snapshot()).files.failed, 1);
  assert.equal(await task.retry(), true);
  assert.deepEqual((await task.wait()).files, { total: 3, completed: 3, unchanged: 0, toDelete: 0, deleted: 0, refused: 0, failed: 0 });
  assert.deepEqual([heard.at(-1).status, heard.at(-1).task], ["success", task]);
  assert.equal(await task.retry(), false);
});

check("a directory that is not there fails", async (room) => {
  const storage = await room.spawn();
  const task = storage.reference("x").putDirectory(join(room.directory, "none"));
  await assert.rejects(task.wait(), StorageError);
});

check("the items of all pages are one iteration", async (room) => {
  const storage = await room.fake(`
    const { id } = await next();
    const reference = { bucket: "b", fullPath: "x" };
    const files = { total: 2, completed: 0, unchanged: 0, toDelete: 0, deleted: 0, refused: 0, failed: 2 };
    const progress = { completedUnitCount: 0, totalUnitCount: 0, fractionCompleted: 0 };
    const observers = { resume: "r", progress: "p", pause: "q", success: "s", failure: "f" };
    say({ id, result: { task: "t", kind: "delete", status: "resume", state: "running", progress, files, isPlanned: true, reference, observers } });
    const item = (path) => ({ path, action: "delete", state: "failed", size: 1, reference: { bucket: "b", fullPath: path } });
    const first = await next();
    say({ id: first.id, result: { items: [item("1")], pageToken: "more" } });
    const second = await next();
    say({ id: second.id, result: { items: [item(JSON.stringify([first.params, second.params]))] } });
  `);
  const task = storage.reference("x").deleteAll();
  const items = await collected(task.items({ states: ["failed"] }));
  const params = { task: "t", states: ["failed"] };
  assert.deepEqual(items.map((one) => one.path), ["1", JSON.stringify([params, { ...params, pageToken: "more" }])]);
});
