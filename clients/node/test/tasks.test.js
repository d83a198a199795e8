import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import { DownloadTask, UploadTask } from "../index.js";
import { MIB, check, course, hearing, holdAt, impatient, statuses } from "./support.js";

check("the events of an upload arrive in order", async (room) => {
  const storage = await room.spawn();
  const task = storage.reference("notes/today.txt").putData("It räined.", { metadata: { cacheControl: "no-store" } });
  assert.ok(task instanceof UploadTask);
  assert.equal(task.id, undefined);
  assert.equal(inspect(task), "UploadTask <not started yet>");
  const heard = hearing(task);
  const stored = await task.wait();
  assert.deepEqual(statuses(heard), ["resume", "progress", "success"]);
  assert.deepEqual([stored.size, stored.contentType, stored.cacheControl], [11, "text/plain", "no-store"]);
  assert.ok(heard.every((one) => one.task === task && one.reference.name === "today.txt"));
  assert.deepEqual(heard.at(-1).metadata, stored);
  assert.equal(await task.snapshot(), heard.at(-1));
  assert.equal(await task.started(), task.id);
  assert.equal(inspect(task), `UploadTask <${task.id}>`);
  assert.equal(storage.uploadTask(task.id), task);
});

check("listeners may be given at the start", async (room) => {
  const storage = await room.spawn();
  const heard = [];
  const hear = (snapshot) => heard.push(snapshot);
  await storage.reference("x").putData("x", { onProgress: hear, observe: { resume: hear, success: hear } }).wait();
  assert.deepEqual(statuses(heard), ["resume", "progress", "success"]);
});

check("objects are copied and moved", async (room) => {
  const storage = await room.spawn();
  const source = storage.reference("a");
  await source.putData("abc", { metadata: { customMetadata: { k: "v" } } }).wait();
  const copy = source.copy(storage.reference("b"));
  const heard = hearing(copy);
  assert.deepEqual((await copy.wait()).customMetadata, { k: "v" });
  const { reference, source: from, isMove } = heard.at(-1);
  assert.ok(reference.name === "b" && from.isEqual(source) && isMove === false);
  await assert.rejects(source.move("gs://archive/c", { ifSourceGenerationMatch: 7 }).wait(), { code: -13412 });
  assert.equal((await source.move("gs://archive/c").wait()).bucket, "archive");
  await assert.rejects(source.getMetadata(), { reason: "objectNotFound" });
  assert.throws(() => source.copy(3), TypeError);
});

check("changes of objects arrive", async (room) => {
  const storage = await room.spawn();
  const folder = storage.reference("uploads");
  const changes = await folder.changes();
  await folder.child("a").putData("1").wait();
  await folder.child("a").move(folder.child("b")).wait();
  const heard = [];
  for await (const { change, reference } of changes) {
    heard.push(`${change} ${reference.name}`);
    if (change === "deleted") break;
  }
  assert.deepEqual(heard, ["created a", "created b", "deleted a"]);
  const controller = new AbortController();
  const ended = await folder.changes({ signal: controller.signal });
  const none = ended.next();
  controller.abort(new DOMException("It took too long.", "TimeoutError")); // as AbortSignal.timeout
  await assert.rejects(none, { name: "TimeoutError" });
  const lost = await folder.changes();
  const next = lost.next();
  await Promise.all([assert.rejects(next, { reason: "serviceGone" }), storage.close({ drain: false })]);
});

check("bytes of any kind, files and URLs of files are put", async (room) => {
  const storage = await room.spawn();
  const bytes = new Uint8Array([0, 1, 2, 3, 255]);
  const path = await room.file("bytes.png", bytes);
  const place = storage.reference("x");
  const puts = [
    () => place.putData(bytes),
    () => place.putData(bytes.buffer),
    () => place.putData(new DataView(bytes.buffer)),
    () => place.putFile(path),
    () => place.putFile(pathToFileURL(path)),
  ];
  for (const put of puts) {
    await put().wait();
    assert.deepEqual([...(await place.getData(5))], [...bytes]);
  }
  await place.putData(bytes.subarray(1, 3)).wait();
  assert.deepEqual([...(await place.getData(5))], [1, 2]);
  assert.throws(() => place.putData(5), TypeError);
});

check("nothing is replaced unasked", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("once");
  const { generation } = await place.putData("a", { ifGenerationMatch: 0 }).wait();
  const isRefused = { code: -13412, reason: "preconditionFailed" };
  await assert.rejects(place.putData("b", { ifGenerationMatch: 0 }).wait(), isRefused);
  await place.putData("c", { ifGenerationMatch: generation, ifMetagenerationMatch: "1" }).wait();
  await assert.rejects(place.updateMetadata({}, { ifGenerationMatch: generation }), isRefused);
  await assert.rejects(place.delete({ ifMetagenerationMatch: 2 }), isRefused);
  await place.delete({ ifMetagenerationMatch: 1 });
});

check("a download arrives in a file", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("notes/today.txt");
  const stored = await place.putData("It rained.").wait();
  const path = await room.file("today.txt", "before");
  const task = place.writeToFile(path);
  assert.ok(task instanceof DownloadTask);
  const heard = hearing(task);
  assert.deepEqual(await task.wait(), stored);
  assert.deepEqual(course(heard), ["resume", "progress", "success"]);
  assert.equal(await readFile(path, "utf8"), "It rained.");
  assert.deepEqual((await storage.downloadTasks()).map((one) => one.task), [task]);
  assert.deepEqual((await storage.uploadTasks()).map((one) => one.state), ["success"]);
});

check("pause, resume, and on to the end", async (room) => {
  const storage = await room.spawn();
  const task = await room.running(storage);
  const heard = hearing(task);
  assert.equal(await task.pause(), true);
  assert.equal(heard.at(-1).status, "pause");
  const paused = await task.snapshot();
  assert.equal(paused.state, "paused");
  assert.equal(await task.pause(), false);
  await storage.request("harness/disarm");
  assert.equal(await task.resume(), true);
  assert.equal((await task.wait()).size, 3 * MIB);
  assert.deepEqual(course(heard.slice(statuses(heard).indexOf("pause"))), ["pause", "resume", "progress", "success"]);
  const counts = heard.map((one) => one.progress.completedUnitCount);
  assert.deepEqual(counts, [...counts].sort((a, b) => a - b));
  assert.deepEqual([await task.pause(), await task.resume(), await task.cancel()], [false, false, false]);
});

check("a cancelled task fails", async (room) => {
  const storage = await room.spawn();
  const task = await room.running(storage);
  const heard = hearing(task);
  assert.equal(await task.cancel(), true);
  await assert.rejects(task.wait(), { name: "StorageError", code: -13040, reason: "cancelled" });
  assert.deepEqual([heard.at(-1).status, heard.at(-1).state], ["failure", "cancelled"]);
  assert.equal(await task.forget(), true);
  assert.deepEqual(await storage.uploadTasks(), []);
  await assert.rejects(storage.reference("large").getMetadata(), { reason: "objectNotFound" });
});

check("tasks come in pages", async (room) => {
  const storage = await room.spawn();
  const tasks = ["a", "b", "c", "d", "e"].map((name) => storage.reference(name).putData(name));
  for (const task of tasks) await task.wait();
  const pages = [];
  for await (const page of storage.uploadTaskPages({ maxResults: 2 })) pages.push(page.map((one) => one.task));
  assert.deepEqual(pages, [tasks.slice(0, 2), tasks.slice(2, 4), tasks.slice(4)]);
  assert.deepEqual((await storage.uploadTasks()).map((one) => one.task), tasks);
  assert.deepEqual(await storage.downloadTasks(), []);
  await assert.rejects(storage.uploadTaskPages({ maxResults: 0 }).next(), { reason: "invalidArgument" });
});

check("a signal cancels, however early it comes", async (room) => {
  const storage = await room.spawn();
  const late = new AbortController();
  const running = await room.running(storage, { signal: late.signal });
  late.abort();
  await assert.rejects(running.wait(), { reason: "cancelled" });

  await holdAt(storage, MIB);
  const early = new AbortController();
  const path = await room.largeFile();
  const starting = storage.reference("x").putFile(path, { signal: early.signal });
  early.abort();
  await assert.rejects(starting.wait(), { reason: "cancelled" });

  const before = storage.reference("x").putFile(path, { signal: AbortSignal.abort("no") });
  const heard = hearing(before);
  await assert.rejects(before.wait(), { reason: "cancelled", code: -13040, cause: "no" });
  assert.deepEqual(heard.map((one) => one.state), ["cancelled"]);
  assert.equal(await before.pause(), false);
  await assert.rejects(storage.reference("x").getMetadata(), { reason: "objectNotFound" });
});

check("the cause distinguishes a timeout from a cancel", async (room) => {
  const storage = await room.spawn();
  const timeout = new DOMException("The operation was aborted due to timeout", "TimeoutError"); // as AbortSignal.timeout
  for (const reason of [timeout, undefined]) {
    const controller = new AbortController();
    const task = await room.running(storage, { signal: controller.signal });
    controller.abort(reason);
    await assert.rejects(task.wait(), { code: -13040, reason: "cancelled", cause: controller.signal.reason });
  }
  const cancelled = await room.running(storage, { signal: new AbortController().signal });
  await cancelled.cancel();
  await assert.rejects(cancelled.wait(), (error) => error.reason === "cancelled" && !("cause" in error));
});

check("an iteration ends with success", async (room) => {
  const storage = await room.spawn();
  const seen = [];
  const task = storage.reference("x").putData("x");
  for await (const snapshot of task) seen.push(snapshot);
  assert.deepEqual(statuses(seen), ["resume", "progress", "success"]);
  const again = [];
  for await (const snapshot of task) again.push(snapshot);
  assert.deepEqual(statuses(again), ["success"]);
});

check("an iteration throws why the task failed", async (room) => {
  const storage = await room.spawn();
  const seen = [];
  const task = storage.reference("x").putFile("/no/such/file");
  const iterate = async () => {
    for await (const snapshot of task) seen.push(snapshot);
  };
  await assert.rejects(iterate(), { reason: "unknown", message: /\/no\/such\/file/ });
  assert.equal(seen.at(-1).status, "failure");
  await assert.rejects(iterate(), { reason: "unknown" });
});

check("a local file or directory that is missing is an ENOENT with its path", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("x");
  const missing = (path) => ({ code: "ENOENT", errno: -2, path, reason: "unknown" });
  const task = place.putFile("/no/such/file");
  await assert.rejects(task.wait(), missing("/no/such/file"));
  assert.equal((await task.snapshot()).error.code, "ENOENT");
  await assert.rejects(place.putDirectory("/no/such/folder").wait(), missing("/no/such/folder"));
  await place.putData("x").wait();
  await assert.rejects(place.writeToFile("/no/such/folder/file").wait(), missing("/no/such/folder/file"));
  await assert.rejects(storage.reference("none").getMetadata(), (error) => error.code === -13010 && !("path" in error));
});

check("a slow iteration sees the newest progress, and leaving it stops nothing", async (room) => {
  const storage = await room.spawn();
  const task = await room.running(storage);
  const heard = hearing(task);
  const [left, slow] = [task[Symbol.asyncIterator](), task[Symbol.asyncIterator]()];
  const first = [left.next(), slow.next()];
  await holdAt(storage, 2 * MIB);
  for (const { value } of await Promise.all(first)) assert.equal(value.status, "progress");
  await left.return();
  await storage.request("harness/disarm");
  await task.wait();
  const seen = [];
  for await (const snapshot of slow) seen.push(snapshot);
  assert.equal(heard.at(-1).status, "success");
  assert.deepEqual(statuses(seen), ["progress", "success"]);
  assert.equal(seen[0].progress.completedUnitCount, 3 * MIB);
});

check("a task that cannot start fails", async (room) => {
  const storage = await room.spawn();
  const task = storage.reference().putData("x");
  const [snapshot] = await once(task, "failure");
  assert.deepEqual([snapshot.state, snapshot.error.reason], ["failed", "invalidArgument"]);
  assert.equal(snapshot.reference.url, "gs://default-bucket/");
  await assert.rejects(task.wait(), { code: -13050 });
  await assert.rejects(task.started(), { code: -13050 });
  assert.equal(await task.cancel(), false);
  assert.equal(await task.snapshot(), snapshot);
  const coloured = storage.reference("x").putData("x", { metadata: { colour: "red" } });
  await assert.rejects(coloured.wait(), { reason: "invalidParams" });
});

check("observers come and go", async (room) => {
  const storage = await room.spawn();
  const task = await room.running(storage);
  await task.pause();
  const heard = [];
  await task.observe("pause", (snapshot) => heard.push(snapshot));
  const handle = await task.observe("resume", () => assert.fail("removed"));
  assert.equal(await task.removeObserver(handle), true);
  assert.equal(await task.removeObserver(handle), false);
  await task.observe("progress", () => assert.fail("removed"));
  await task.observe("progress", () => assert.fail("removed"));
  assert.equal(await task.removeAllObservers("progress"), 2);
  assert.deepEqual(statuses(heard), ["pause"]);
  await task.observe("success", (snapshot) => heard.push(snapshot));
  await storage.request("harness/disarm");
  await task.resume();
  await task.wait();
  await storage.request("service/ping");
  assert.deepEqual(statuses(heard), ["pause", "success"]);
  await assert.rejects(task.observe("success", undefined), TypeError);
  await assert.rejects(task.observe("news", () => {}), { reason: "invalidParams" });
});

check("another session finds a task, and receives its events", async (room) => {
  const path = await room.serve();
  const [mine, theirs] = [await room.connect(path), await room.connect(path)];
  const task = await room.running(mine);
  const copy = theirs.uploadTask(task.id);
  assert.equal((await copy.snapshot()).state, "running");
  await assert.rejects(copy.wait({ signal: AbortSignal.timeout(1) }), { name: "TimeoutError" });
  const failure = once(copy, "failure");
  assert.equal(await copy.cancel(), true);
  assert.equal((await failure)[0].task, copy);
  for (const one of [task, copy]) await assert.rejects(one.wait(), { reason: "cancelled" });
  await assert.rejects(theirs.uploadTask(task.id).wait(), { reason: "cancelled" });
  const unknown = theirs.uploadTask("nobody");
  for (const verb of ["pause", "resume", "cancel", "snapshot", "wait"]) {
    await assert.rejects(unknown[verb](), { reason: "invalidArgument", message: /nobody/ });
  }
});

check("many may share a signal", async (room) => {
  const storage = await room.spawn();
  const warnings = [];
  const warn = (warning) => warnings.push(warning);
  process.on("warning", warn);
  const { signal } = new AbortController();
  const puts = Array.from({ length: 30 }, (_, index) => storage.reference(`x${index}`).putData("x", { signal }));
  await Promise.all(puts.map((one) => one.wait({ signal })));
  await Promise.all(puts.map(() => storage.request("service/ping", {}, { signal })));
  process.off("warning", warn);
  assert.deepEqual(warnings, []);
});

check("closing a session on a socket does not wait for a paused task", async (room, t) => {
  impatient(t);
  const path = await room.serve();
  const storage = await room.connect(path);
  const task = await room.running(storage);
  await task.pause();
  const asked = storage.request("uploadTask/wait", { task: task.id });
  asked.catch(() => {});
  await storage.close();
  await assert.rejects(asked, { reason: "serviceGone", message: "The session is closed." });
});

check("a task outlives its session on a socket", async (room) => {
  const path = await room.serve();
  const storage = await room.connect(path);
  const task = await room.running(storage);
  await storage.close();
  await assert.rejects(task.wait(), { name: "ServiceGoneError", message: "The session is closed." });
  const other = await room.connect(path);
  assert.equal(await other.uploadTask(task.id).cancel(), true);
});
