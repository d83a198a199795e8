/** Uploads and downloads as streams of Node. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable, Transform, Writable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { StorageError } from "../index.js";
import { MIB, check, program } from "./support.js";

/** Bytes of which no two MiB are equal. */
const bytes = (size) => Buffer.from(Uint32Array.from({ length: size / 4 }, (_, index) => index).buffer);

async function* generated(...pieces) {
  yield* pieces;
}

check("sources of any kind are stored", async (room) => {
  const storage = await room.spawn();
  const path = await room.file("file", "one, two");
  const array = new Uint8Array(Buffer.from("one, two"));
  const sources = [
    "one, two",
    array,
    array.buffer,
    ["one", ", ", "two"],
    ["one", new DataView(array.buffer, 3)],
    generated("one", array.subarray(3)),
    new Blob(["one", ", two"]),
    new Blob(["one, two"]).stream(),
    createReadStream(path),
    createReadStream(path, { highWaterMark: 1, encoding: "utf8" }),
    Readable.from(["one, ", "", Buffer.from("two")]),
  ];
  const place = storage.reference("notes.txt");
  for (const [index, source] of sources.entries()) {
    const { size, contentType } = await place.putStream(source, { size: 8 }).wait();
    assert.deepEqual([size, contentType], [8, "text/plain"], index);
    assert.equal((await place.getData(10)).toString(), "one, two", index);
  }
  assert.equal((await place.putStream([]).wait()).size, 0);
});

check("what is no source is refused", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("x");
  for (const source of [null, undefined, 5, new Response("x"), () => "x"]) {
    assert.throws(() => place.putStream(source), /What is put must be a stream/);
  }
  assert.throws(() => place.putStream("x", { sise: 1 }), /did you mean size\?/);
  assert.throws(() => place.putStream({ contentType: "text/plain" }), /metadata: \{ contentType \}/);
  assert.throws(() => place.getStream({ length: 1 }), TypeError);
  for (const source of [[1], generated("x", {}), Readable.from([{ a: 1 }])]) {
    await assert.rejects(place.putStream(source).wait(), ({ reason, cause }) => reason === "cancelled" && cause instanceof TypeError);
  }
  await assert.rejects(place.getMetadata(), { reason: "objectNotFound" });
});

check("a pipeline ends when the object is stored", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("large.bin");
  const all = bytes(5 * MIB);
  const path = await room.file("large.bin", all);
  const upload = place.putStream({ metadata: { cacheControl: "no-store" }, md5Hash: createHash("md5").update(all).digest("base64") });
  assert.ok(upload instanceof Writable);
  await pipeline(createReadStream(path), upload);
  const { size, cacheControl } = await place.getMetadata();
  assert.deepEqual([size, cacheControl], [5 * MIB, "no-store"]);
  assert.equal((await upload.task.snapshot()).status, "success");
  const download = place.getStream();
  const copy = join(room.directory, "copy.bin");
  await pipeline(download, createWriteStream(copy));
  assert.ok(all.equals(await readFile(copy)));
  assert.equal(download.verified, true);
  assert.equal((await download.task.snapshot()).state, "success");
});

check("an upload of a stream has the events of any upload", async (room) => {
  const storage = await room.spawn();
  const heard = [];
  const hear = ({ status, origin }) => heard.push(`${status} ${origin}`);
  const task = storage.reference("x").putStream("abc", { onProgress: hear, observe: { success: hear, resume: hear } });
  await task.wait();
  assert.deepEqual([heard.at(0), heard.at(-1)], ["resume stream", "success stream"]);
});

check("other bytes than those that were announced are not stored", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("x");
  await assert.rejects(place.putStream("abc", { md5Hash: "bNNVbesNpUvKBgtMOUeYOQ==" }).wait(), { reason: "nonMatchingChecksum" });
  const early = place.putStream("abc", { size: 4 });
  await assert.rejects(early.wait(), ({ reason, cause }) => reason === "cancelled" && cause.reason === "invalidArgument");
  const isThere = { reason: "preconditionFailed" };
  await place.putData("x").wait();
  await assert.rejects(place.putStream("abc", { ifGenerationMatch: 0 }).wait(), isThere);
  await assert.rejects(pipeline(["abc"], place.putStream({ ifGenerationMatch: 0 })), isThere);
  assert.equal((await place.getMetadata()).size, 1);
});

check("a source that fails, or a stream that is destroyed, cancels its task", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("x");
  async function* failing() {
    yield "abc";
    throw new RangeError("no more");
  }
  await assert.rejects(place.putStream(failing()).wait(), ({ reason, message, cause }) => {
    assert.deepEqual([reason, message, cause.name], ["cancelled", "The stream of the upload has failed: no more", "RangeError"]);
    return true;
  });
  await assert.rejects(pipeline(failing(), place.putStream()), { message: "no more" });
  const stream = place.putStream();
  stream.write("abc");
  stream.destroy();
  await assert.rejects(stream.task.wait(), { reason: "cancelled" });
  await assert.rejects(place.getMetadata(), { reason: "objectNotFound" });
});

check("a source that is destroyed, or was read before, stores nothing", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("x");
  const begin = () => {
    const source = new Readable({ read() {} });
    source.push("half");
    return source;
  };
  const source = begin();
  const task = place.putStream(source);
  await task.started();
  source.destroy();
  const early = ({ reason, message, cause }) => reason === "cancelled" && /Premature close/.test(message) && cause instanceof Error;
  await assert.rejects(task.wait(), early);
  await assert.rejects(place.putStream(begin().destroy()).wait(), early);
  const [read, web] = [Readable.from(["all"]), new Blob(["all"]).stream()];
  for (const used of [read, web]) {
    for await (const _ of used);
    await assert.rejects(place.putStream(used).wait(), { message: /read to its end before/ });
  }
  await assert.rejects(place.getMetadata(), { reason: "objectNotFound" });
  const rest = new ReadableStream({
    start(controller) {
      for (const part of ["head", "rest"]) controller.enqueue(Buffer.from(part));
      controller.close();
    },
  });
  const reader = rest.getReader();
  await reader.read();
  reader.releaseLock();
  assert.equal((await place.putStream(rest).wait()).size, 4);
});

check("a task that is cancelled destroys its stream and its source", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("x");
  const source = new Readable({ read() {} });
  const task = place.putStream(source);
  source.push("abc");
  await task.started();
  const closed = new Promise((resolve) => source.once("close", resolve));
  await task.cancel();
  await closed;
  const controller = new AbortController();
  const upload = place.putStream({ signal: controller.signal });
  const failed = once(upload, "error");
  controller.abort("enough");
  const [{ reason, cause }] = await failed;
  assert.deepEqual([reason, cause], ["cancelled", "enough"]);
  const early = place.putStream({ signal: AbortSignal.abort("at once") });
  const [error] = await once(early, "error");
  assert.equal(error.cause, "at once");
});

check("a download is read in any way that Node has", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("notes.txt");
  const all = "It rained. ".repeat(200_000);
  await place.putData(all).wait();
  assert.equal(await text(place.getStream()), all);
  const part = place.getStream({ offset: all.length - 4 });
  assert.equal(await text(part), "d. ".padStart(4, "e"));
  assert.equal(part.verified, false);
  assert.equal(await text(Readable.toWeb(place.getStream())), all);
  const upper = new Transform({ transform: (chunk, _, done) => done(null, String(chunk).toUpperCase()) });
  assert.equal(await text(place.getStream().pipe(upper)), all.toUpperCase());
  assert.equal((await buffer(place.getStream({ offset: all.length }))).length, 0);
  await place.putData("").wait();
  assert.equal(await text(place.getStream()), "");
  await place.putStream(place.getStream()).wait();
});

check("a download is read in any order", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("film");
  const all = bytes(6 * MIB + 8);
  await place.putStream(all).wait();
  const stream = place.getStream();
  assert.equal(await stream.size(), all.length);
  for (const [offset, length] of [[5 * MIB, 3 * MIB], [7, 5], [MIB - 1, 4 * MIB], [all.length, 1], [0, 0], [all.length + 5, 5]]) {
    assert.ok((await stream.readAt(offset, length)).equals(all.subarray(offset, offset + length)), `${offset} ${length}`);
  }
  const [part, rest] = await Promise.all([stream.readAt(3 * MIB, 10), buffer(stream)]);
  assert.ok(part.equals(all.subarray(3 * MIB, 3 * MIB + 10)) && rest.equals(all) && stream.verified);
  assert.ok((await stream.readAt(9, 9)).equals(all.subarray(9, 18)), "after the end");
  for (const wrong of [[-1, 1], [0, -1], [0.5, 1], [0, Infinity]]) await assert.rejects(stream.readAt(...wrong), RangeError);
});

check("parts are of one generation, and end with their stream", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("film");
  await place.putData("old").wait();
  const [replaced, destroyed] = [place.getStream(), place.getStream()];
  assert.equal((await replaced.readAt(0, 2)).toString(), "ol");
  destroyed.destroy();
  await assert.rejects(destroyed.readAt(0, 2), { reason: "cancelled" });
  const none = storage.reference("none").getStream();
  await assert.rejects(none.size(), { reason: "objectNotFound" });
  await assert.rejects(none.readAt(0, 1), { reason: "objectNotFound" });
  await place.putData("new").wait();
  await assert.rejects(replaced.readAt(0, 2), { reason: "preconditionFailed" });
  replaced.destroy();
  await assert.rejects(replaced.task.wait(), { reason: "cancelled" });
});

check("a download that fails, or is left, ends", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("notes.txt");
  await assert.rejects(text(place.getStream()), { reason: "objectNotFound" });
  await place.putData("It rained.").wait();
  await assert.rejects(text(place.getStream({ offset: 11 })), { reason: "invalidArgument" });
  await place.putData("x".repeat(5 * MIB)).wait();
  const left = place.getStream();
  for await (const piece of left) {
    assert.ok(piece.length > 0);
    break;
  }
  await assert.rejects(left.task.wait(), { reason: "cancelled" });
  const stopped = place.getStream();
  await stopped.task.started();
  await Promise.all([stopped.task.cancel(), assert.rejects(text(stopped), { reason: "cancelled" })]);
});

check("a slow service is not hurried", async (room) => {
  const storage = await room.fake(`
    const appended = [];
    for (;;) {
      const { id, method, params } = await next();
      if (method === "uploadTask/append") appended.push(id);
      else if (method === "count") say({ id, result: appended.length });
      else if (method === "take") for (const one of [id, ...appended.splice(0)]) say({ id: one, result: {} });
      else if (method === "reference/putStream") {
        const progress = { completedUnitCount: 0, totalUnitCount: 0, fractionCompleted: 0 };
        const observers = { resume: "r", progress: "p", pause: "q", success: "s", failure: "f" };
        const reference = { bucket: "b", fullPath: "x" };
        say({ id, result: { task: "t", status: "resume", state: "running", progress, reference, observers } });
      }
    }
  `);
  const piece = Buffer.alloc(512 << 10);
  let pulled = 0;
  async function* endless() {
    for (;; pulled++) yield piece;
  }
  storage.reference("x").putStream(endless());
  for (let round = 0; round < 3; round++) {
    while ((await storage.request("count")) < 4);
    for (let turn = 0; turn < 20; turn++) assert.equal(await storage.request("count"), 4);
    assert.ok(pulled < 20 * (round + 1), `${pulled} pieces`);
    await storage.request("take");
  }
});

check("pieces that wait for the engine arrive in their order", async (room) => {
  const storage = await room.spawn();
  const all = bytes(8 * MIB);
  await storage.request("harness/arm", { on: "send", do: { hold: true } });
  const task = storage.reference("x").putStream(all);
  for (let held = []; held.length === 0; ) ({ held } = await storage.request("harness/settled"));
  await storage.request("harness/release");
  assert.equal((await task.wait()).md5Hash, createHash("md5").update(all).digest("base64"));
});

check("an upload that is paused takes its bytes when it is resumed", async (room) => {
  const storage = await room.spawn();
  const stream = storage.reference("x").putStream();
  assert.equal(await stream.task.pause(), true);
  const ended = once(stream, "finish");
  stream.end("later");
  await storage.request("service/ping");
  assert.equal((await stream.task.snapshot()).state, "paused");
  assert.equal(await stream.task.resume(), true);
  assert.equal((await stream.task.wait()).size, 5);
  await ended; // Its request is answered after the wait.
});

check("an upload continues in another session", async (room) => {
  const socket = await room.serve();
  const first = await room.connect(socket);
  const stream = first.reference("log.txt").putStream();
  stream.write("Hello, ");
  await first.close();
  await assert.rejects(stream.task.wait(), { reason: "serviceGone" });
  const second = await room.connect(socket);
  const task = second.uploadTask(stream.task.id);
  assert.equal((await task.snapshot()).offset, 7);
  await pipeline(["lo, ", "world", "!"], task.stream({ offset: 3, md5Hash: "bNNVbesNpUvKBgtMOUeYOQ==" }));
  assert.equal((await task.wait()).size, 13);
  const place = second.reference("log.txt");
  assert.equal((await place.getData(20)).toString(), "Hello, world!");
  await assert.rejects(pipeline(["more"], task.stream({ offset: 13 })), { reason: "invalidArgument" });
  const gap = place.putStream();
  const beyond = second.uploadTask(await gap.task.started()).stream({ offset: 4 });
  await assert.rejects(pipeline(["more"], beyond), { reason: "invalidArgument" });
  await pipeline(["less"], gap.task.stream({ offset: 0 }));
  assert.equal((await gap.task.wait()).size, 4);
  gap.destroy();
  assert.throws(() => task.stream({ offset: 1n }), TypeError);
});

check("closing the session waits for the sources of streams, except those of paused uploads", async (room) => {
  const socket = await room.serve();
  const [first, second] = [await room.connect(socket), await room.connect(socket)];
  let proceed;
  const permission = new Promise((resolve) => (proceed = resolve));
  async function* late(until) {
    yield "Hello, ";
    await until;
    yield "world!";
  }
  const stored = first.reference("stored").putStream(late(permission));
  const paused = first.reference("paused").putStream(late(new Promise(() => {})));
  await Promise.all([once(stored, "progress"), once(paused, "progress")]);
  await paused.pause();
  const closed = first.close();
  assert.equal(await Promise.race([closed, second.request("service/ping").then(() => "waits")]), "waits");
  proceed();
  await closed;
  assert.equal((await second.reference("stored").getData(20)).toString(), "Hello, world!");
  assert.equal((await second.uploadTask(await paused.started()).snapshot()).state, "paused");
});

check("closing the session sends what was written, and ends streams without an error", async (room) => {
  const options = { args: ["--root", room.root] };
  const storage = await room.spawn(options);
  await storage.reference("unread").putData("abc").wait();
  const [open, ended] = ["open", "ended"].map((path) => storage.reference(path).putStream());
  const unread = storage.reference("unread").getStream();
  const closed = [open, ended, unread].map((stream) => once(stream, "close"));
  const written = bytes(9 * MIB + 8);
  open.cork();
  open.write(written);
  ended.end(written);
  await storage.close();
  await Promise.all(closed);
  const later = await room.spawn(options);
  assert.ok((await later.reference("ended").getData(10 * MIB)).equals(written));
  const { state, offset } = await later.uploadTask(open.task.id).snapshot();
  assert.deepEqual([state, offset], ["paused", written.length]);
});

check("closing the session does not wait for a paused upload, whose appends have no answer", async (room) => {
  const options = { args: ["--root", room.root] };
  const storage = await room.spawn(options);
  for (const session of [await room.spawn(options), storage]) {
    const stream = session.reference("x").putStream();
    await stream.task.pause();
    stream.write("later");
    const closed = once(stream, "close");
    await session.close();
    await closed;
  }
});

check("closing the session ends a pipeline into a stream, and fails a download that is being read", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("x");
  await place.putData(bytes(9 * MIB)).wait();
  async function* endless() {
    for (;;) yield Buffer.alloc(MIB);
  }
  const [upload, download] = [storage.reference("y").putStream(), place.getStream()];
  const uploaded = assert.rejects(pipeline(endless(), upload));
  const pieces = download[Symbol.asyncIterator]();
  await Promise.all([once(upload.task, "progress"), pieces.next()]);
  await storage.close();
  await uploaded;
  await assert.rejects(async () => {
    while (!(await pieces.next()).done);
  }, StorageError);
});

check("closing the session early cancels uploads that have a source", async (room) => {
  const socket = await room.serve();
  const [first, second] = [await room.connect(socket), await room.connect(socket)];
  async function* endless() {
    yield "on and on";
    await new Promise(() => {});
  }
  const upload = first.reference("x").putStream(endless());
  await once(upload, "progress");
  await first.close({ drain: false });
  await assert.rejects(second.uploadTask(await upload.started()).wait(), { reason: "cancelled" });
});

check("an unused stream does not keep the program running", async (room) => {
  const { status, output } = await room.run(`
    await storage.reference("x").putData("abc").wait();
    storage.reference("x").getStream();
    const stream = storage.reference("y").putStream();
    stream.write("abc");
    await stream.task.started();
    console.log("done");
  `);
  assert.deepEqual([status, output], [0, "done\n"]);
});

check("a closed session leaves nothing that keeps the program running", async (room) => {
  const { output } = await room.run(`
    for (const options of [{ args: ["--root", ${JSON.stringify(room.root)} + 2] }, undefined]) {
      const session = options ? await Storage.spawn({ program: ${JSON.stringify(program)}, ...options }) : storage;
      session.reference("y").putStream(["abc"]);
      session.reference("x").putStream().write("abc");
      session.reference("z").putFile(process.execPath);
      await session.close();
      console.log(process.getActiveResourcesInfo().includes("Timeout"));
    }
  `);
  assert.equal(output, "false\nfalse\n");
});
