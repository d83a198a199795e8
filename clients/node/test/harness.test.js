import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { withGateway, withHarness } from "../harness.js";
import { Storage } from "../index.js";
import { MIB, check, program } from "./support.js";

const MIDNIGHT = "2026-01-01T00:00:00Z";

/** A test with a file of five mebibytes, and a service that has a harness. */
function scene(name, body) {
  check(name, async (room, t) => {
    const { storage, harness, socket } = await withHarness(t, { program });
    const film = storage.reference("film.mov");
    const path = await room.largeFile(5 * MIB);
    await body({ room, storage, harness, socket, film, path, put: () => film.putFile(path) });
  });
}

const refused = (promise, reason) => assert.rejects(promise, { reason });

scene("the third chunk is unauthorized", async ({ harness, put }) => {
  await harness.arm({ on: "send", nth: 3, do: { fail: { error: "unauthorized" } } });
  await refused(put().wait(), "unauthorized");
  await harness.journal({ on: "send", expect: ["ok", "ok", "unauthorized"] });
});

scene("a server is busy twice, then fine", async ({ harness, put }) => {
  await harness.clock({ run: "skip" });
  await harness.arm({ on: "send", nth: 2, times: 2, do: { fail: { httpStatus: 503 } } });
  assert.equal((await put().wait()).size, 5 * MIB);
});

scene("ten minutes of retries take no time", async ({ harness, put }) => {
  await harness.clock({ run: "skip" });
  await harness.arm({ on: "send", times: null, do: { fail: { httpStatus: 503 } } });
  await refused(put().wait(), "retryLimitExceeded");
  const { entries } = await harness.journal({ on: "send" });
  assert.ok(new Date(entries.at(-1).at) - new Date(entries[0].at) > 300_000);
});

scene("an object whose last answer is lost is not stored twice", async ({ harness, put, film }) => {
  await harness.clock({ run: "skip" });
  await harness.arm({ on: "send", at: 4 * MIB, do: { lose: { httpStatus: 502 } } });
  const { generation } = await put().wait();
  assert.equal((await film.getMetadata()).generation, generation);
  const { entries } = await harness.journal({ on: "send" });
  assert.deepEqual(entries.filter(({ bytes }) => bytes[0] === 4 * MIB).map(({ outcome }) => outcome), ["unknown"]);
});

scene("a full bucket and damaged bytes store nothing", async ({ storage, harness }) => {
  await harness.arm({ on: "whole", do: { fail: { error: "quotaExceeded" } } });
  await harness.arm({ on: "whole", nth: 2, do: { corrupt: true } });
  const note = storage.reference("note.txt");
  await refused(note.putData("x").wait(), "quotaExceeded");
  await refused(note.putData("x").wait(), "nonMatchingChecksum");
  await refused(note.getMetadata(), "objectNotFound");
});

scene("a token that is refused in mid-transfer is replaced", async ({ storage, harness, put }) => {
  storage.onRefreshToken = (kind, reason) => ({ token: `fresh-${reason}` });
  await storage.setToken("stale");
  await harness.arm({ on: "send", at: 4 * MIB, times: null, do: { demand: { accept: ["fresh-refused"] } } });
  await put().wait();
});

scene("an upload stops at 40 %, is paused there and resumes", async ({ harness, put }) => {
  await harness.arm({ on: "send", at: 2 * MIB, do: { hold: true } });
  const task = put();
  const { held } = await harness.settled();
  assert.deepEqual(held.map(({ task, at }) => [task, at]), [[task.id, 2 * MIB]]);
  assert.equal(await task.pause(), true);
  assert.equal((await task.snapshot()).progress.fractionCompleted, 0.4);
  assert.equal(await task.resume(), true);
  await task.wait();
});

scene("a failed upload is retried, and its listeners receive the events", async ({ storage, harness, put }) => {
  await storage.updateSettings({ maxUploadRetryTime: 0 });
  await harness.arm({ on: "send", at: 2 * MIB, do: { fail: { httpStatus: 503 } } });
  const task = put();
  const heard = [];
  for (const status of ["failure", "success"]) task.on(status, (snapshot) => heard.push(snapshot.status));
  await refused(task.wait(), "retryLimitExceeded");
  await harness.arm({ on: "send", at: MIB, do: { hold: true } });
  assert.equal(await task.retry(), true);
  const [end] = [task.wait(), await harness.settled()];
  assert.equal((await task.snapshot()).progress.completedUnitCount, MIB);
  assert.equal(await task.retry(), false);
  await harness.release();
  assert.equal((await end).size, 5 * MIB);
  assert.deepEqual(heard, ["failure", "success"]);
  assert.equal(await task.retry(), false);
});

scene("a retry ends the wait after a failure", async ({ harness, put }) => {
  await harness.clock({ at: MIDNIGHT });
  await harness.arm({ on: "send", do: { fail: { httpStatus: 503 } } });
  const task = put();
  const { resting } = await harness.settled();
  assert.deepEqual(resting.map((one) => one.task), [task.id]);
  assert.equal(await task.retry(), true);
  await task.wait();
});

scene("an upload that is cancelled where it is held leaves nothing", async ({ harness, put, film }) => {
  await harness.arm({ on: "send", at: 2 * MIB, do: { hold: true } });
  const task = put();
  await harness.settled();
  await task.cancel();
  await refused(task.wait(), "cancelled");
  await refused(film.getMetadata(), "objectNotFound");
});

scene("a download stops at a byte", async ({ room, harness, put, film, path }) => {
  await put().wait();
  await harness.arm({ on: "fetch", at: 3 * MIB, do: { hold: true } });
  const copy = join(room.directory, "copy");
  const task = film.writeToFile(copy);
  await harness.settled();
  assert.equal((await task.snapshot()).progress.completedUnitCount, 3 * MIB);
  await harness.release();
  await task.wait();
  assert.ok((await readFile(copy)).equals(await readFile(path)));
});

scene("requests are held until their connection ends", async ({ harness, socket }) => {
  await harness.arm({ on: ["getMetadata", "list", "delete"], times: null, do: { hold: true } });
  const other = await Storage.connect(socket);
  const note = other.reference("note.txt");
  const asked = Promise.allSettled([note.getMetadata(), other.reference("").list(), note.delete()]);
  while ((await harness.settled()).held.length < 3);
  await other.close({ drain: false });
  assert.deepEqual((await asked).map(({ reason }) => reason.reason), Array(3).fill("serviceGone"));
  while ((await harness.settled()).held.length > 0); // the service may notice the end later
});

scene("a slow line takes seconds of the harness, not of the test", async ({ harness, put }) => {
  await harness.clock({ at: MIDNIGHT });
  await harness.arm({ on: "send", times: null, do: { rate: 100_000 } });
  const task = put();
  await harness.settled();
  await harness.clock({ advance: 26 });
  const { fractionCompleted } = (await task.snapshot()).progress;
  assert.ok(fractionCompleted > 0.4 && fractionCompleted < 0.6, String(fractionCompleted));
  await harness.clock({ run: "skip" });
  await task.wait();
});

scene("a space has objects of its own, that come back", async ({ storage, harness }) => {
  const { socket, isNew } = await harness.space({ quota: 5000 });
  const generate = { reference: "gs://default-bucket/{n}.jpg", count: 20, size: 100 };
  assert.deepEqual(await harness.seed({ generate }), { objects: 20, bytes: 2000 });
  const { objects } = await harness.save({ snapshot: "photos" });
  assert.deepEqual([isNew, objects], [true, 20]);
  const other = await Storage.connect(socket);
  await other.reference("7.jpg").delete();
  await refused(other.reference("film").putData(new Uint8Array(4000)).wait(), "quotaExceeded");
  await other.close();
  await harness.reset({ snapshot: "photos" });
  assert.equal((await storage.reference("7.jpg").getMetadata()).size, 100);
  await harness.reset();
  assert.deepEqual((await storage.reference("").listAll()).items, []);
});

scene("mistakes of a test are answered", async ({ harness }) => {
  await assert.rejects(harness.arm({ on: "upload", do: { hold: true } }), /whole/);
  await assert.rejects(harness.release({ hold: "hold-7" }), /hold-7/);
  await harness.clock({ at: MIDNIGHT });
  await assert.rejects(harness.clock({ at: "2025-01-01T00:00:00Z" }), { code: -13050 });
  await harness.arm({ rule: "never", on: "list", do: { hold: true } });
  assert.deepEqual((await harness.disarm()).unfired, ["never"]);
});

check("a task is listed after the service has ended at a byte", async (room) => {
  const args = ["--harness", "--root", room.root];
  const first = await room.spawn({ args });
  await first.request("harness/arm", { on: "send", at: 2 * MIB, do: { exit: 9 } });
  await refused(first.reference("film.mov").putFile(await room.largeFile(5 * MIB)).wait(), "serviceGone");
  const second = await room.spawn({ args });
  const [left] = await second.uploadTasks();
  assert.equal(left.state, "paused");
  await left.task.resume();
  assert.equal((await left.task.wait()).size, 5 * MIB);
});

scene("a test waits for what the program under test stores", async ({ storage, harness }) => {
  const waiting = harness.waitFor("uploads/**");
  await storage.reference("other").putData("1").wait();
  await storage.reference("uploads/a/b").putData("1").wait();
  assert.equal((await waiting).fullPath, "uploads/a/b");
  assert.equal((await harness.waitFor(`gs://${storage.defaultBucket}/uploads/?/b`)).name, "b");
  await assert.rejects(harness.waitFor("gs://elsewhere/**", { signal: AbortSignal.timeout(20) }), { name: "TimeoutError" });
});

const VARIABLES = ["STORAGE_EMULATOR_HOST", "FIREBASE_STORAGE_EMULATOR_HOST"];
const set = () => VARIABLES.map((name) => process.env[name]);
const upload = (url) => fetch(`${url}/upload/storage/v1/b/box/o?uploadType=media&name=a`, { method: "POST", body: "x" });

check("the variables of a gateway lead an SDK to the objects of its test, until that ends", async (room, t) => {
  process.env.STORAGE_EMULATOR_HOST = "http://before";
  t.after(() => delete process.env.STORAGE_EMULATOR_HOST);
  await t.test("the test", async (t) => {
    const { storage, harness, host, url, environment } = await withGateway(t, { program });
    assert.deepEqual(set(), [url, host]);
    assert.deepEqual(environment, Object.fromEntries(VARIABLES.map((name) => [name, process.env[name]])));
    assert.equal((await upload(url)).status, 200);
    assert.equal((await storage.reference("gs://box/a").getMetadata()).size, 1);
    await harness.authorize({ default: "deny" });
    assert.equal((await fetch(`${url}/v0/b/box/o/a?alt=media`)).status, 403);
  });
  assert.deepEqual(set(), ["http://before", undefined]);
});

check("rules and holds are about requests of SDKs, too", async (room, t) => {
  const { storage, harness, url } = await withGateway(t, { program });
  await harness.arm({ on: "whole", do: { fail: { httpStatus: 503 } } });
  assert.equal((await upload(url)).status, 503);
  await harness.arm({ on: "whole", do: { hold: true } });
  const answer = upload(url);
  while ((await harness.settled()).held.length === 0);
  await refused(storage.reference("gs://box/a").getMetadata(), "objectNotFound");
  await harness.release();
  assert.equal((await answer).status, 200);
});

check("of tests at the same time in one process, one alone has the variables", async (room, t) => {
  const first = await withGateway(t, { program });
  await assert.rejects(withGateway(t, { program }), /setsEnvironment/);
  const second = await withGateway(t, { program, setsEnvironment: false });
  assert.deepEqual(set(), [first.url, first.host]);
  assert.equal(second.environment.FIREBASE_STORAGE_EMULATOR_HOST, second.host);
  await Promise.all([upload(first.url), upload(second.url)]);
  await second.storage.reference("gs://box/a").delete();
  assert.equal((await first.storage.reference("gs://box/a").getMetadata()).size, 1);
});
