import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Storage } from "../index.js";
import { localPath } from "../src/files.js";
import { check } from "./support.js";

const refusal = (message) => ({ name: "TypeError", message });

check("an unknown option of any method is an error that names it", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("x");
  const task = place.putData("x");
  await task.wait();
  const requests = {
    discover: (options) => storage.discover(options),
    ping: (options) => storage.ping(options),
    status: (options) => storage.status(options),
    metrics: (options) => storage.metrics(options),
    stop: (options) => storage.stop(options),
    setToken: (options) => storage.setToken("secret", options),
    getSettings: (options) => storage.getSettings(options),
    updateSettings: (options) => storage.updateSettings({}, options),
    request: (options) => storage.request("service/ping", {}, options),
    uploadTasks: (options) => storage.uploadTasks(options),
    downloadTasks: (options) => storage.downloadTasks(options),
    close: (options) => storage.close(options),
    getMetadata: (options) => place.getMetadata(options),
    updateMetadata: (options) => place.updateMetadata({}, options),
    downloadURL: (options) => place.downloadURL(options),
    revokeDownloadURL: (options) => place.revokeDownloadURL(options),
    delete: (options) => place.delete(options),
    list: (options) => place.list(options),
    listAll: (options) => place.listAll(options),
    getData: (options) => place.getData(1, options),
    wait: (options) => task.wait(options),
    forget: (options) => task.forget(options),
    spawn: (options) => Storage.spawn(options),
    connect: (options) => Storage.connect("/no/such/socket", options),
  };
  for (const [name, call] of Object.entries(requests)) {
    await assert.rejects(call({ colour: "red" }), refusal(new RegExp(`^${name} has no option colour; `)), name);
    await assert.rejects(call(AbortSignal.timeout(1000)), refusal(`${name} takes a signal as { signal }.`), name);
    for (const options of [null, 5, "signal", () => {}]) {
      await assert.rejects(call(options), refusal(`The options of ${name} must be an object.`), name);
    }
  }
  const others = {
    putData: (options) => place.putData("x", options),
    putFile: (options) => place.putFile("x", options),
    writeToFile: (options) => place.writeToFile("x", options),
    reference: (options) => storage.reference("x", options),
    exactReference: (options) => storage.exactReference("x", options),
    uploadTaskPages: (options) => storage.uploadTaskPages(options),
    downloadTaskPages: (options) => storage.downloadTaskPages(options),
  };
  for (const [name, call] of Object.entries(others)) {
    assert.throws(() => call({ colour: "red" }), refusal(new RegExp(`^${name} has no option colour; `)), name);
  }
  assert.equal(await storage.ping(), "pong");
  assert.equal((await storage.uploadTasks()).length, 1);
});

check("a value that JSON does not have is refused by name, and sends nothing", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("x");
  const refused = (call, message) => assert.throws(call, refusal(message));
  refused(() => place.putData("x", { ifGenerationMatch: 1n }), "The option ifGenerationMatch of putData is a BigInt; give its digits as a string.");
  refused(() => place.putData("x", { onProgress: 5 }), "onProgress must be a function.");
  refused(() => place.putData("x", { observe: { success: 5 } }), "observe.success must be a function.");
  refused(() => place.putData("x", { signal: {} }), "The option signal of putData must be an AbortSignal.");
  await assert.rejects(Storage.spawn({ onRefreshToken: "x" }), refusal("onRefreshToken must be a function."));
  await assert.rejects(place.delete({ ifMetagenerationMatch: 1n }), refusal(/^The option ifMetagenerationMatch of delete is a BigInt/));
  const wrong = { maxResults: NaN, pageToken: () => "x", exact: new Map() };
  for (const [name, value] of Object.entries(wrong)) {
    await assert.rejects(place.list({ [name]: value }), refusal(new RegExp(`^${name} is (NaN|function|Map), which is no value of JSON.$`)));
  }
  await assert.rejects(place.updateMetadata({ customMetadata: { a: 1n } }), refusal("a is bigint, which is no value of JSON."));
  await assert.rejects(place.putData("x", { metadata: { customMetadata: new Map([["a", "1"]]) } }).wait(), refusal(/^customMetadata is Map/));
  assert.equal((await storage.uploadTasks()).length, 0);
  await place.putData("x", { ifGenerationMatch: "0" }).wait();
});

check("the error for a misspelled or misplaced option names the right one", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("x");
  const meant = (call, message) => assert.throws(call, refusal(message));
  meant(() => place.putData("x", { ifGenerationmatch: 0 }), "putData has no option ifGenerationmatch; did you mean ifGenerationMatch?");
  meant(() => place.putData("x", { on_progress: () => {} }), "putData has no option on_progress; did you mean onProgress?");
  meant(() => place.putFile("x", { meta: {} }), "putFile has no option meta; it has metadata, ifGenerationMatch, ifMetagenerationMatch, key, observe, onProgress, signal.");
  meant(() => place.putData("x", { contentType: "a/b" }), "putData has no option contentType; metadata: { contentType } has it.");
  meant(() => place.putData("x", { observe: { sucess: () => {} } }), "observe has no option sucess; did you mean success?");
  meant(() => place.writeToFile("x", { ifGenerationMatch: 0 }), "writeToFile has no option ifGenerationMatch; it has key, observe, onProgress, signal.");
  const root = 'spawn has no option root; a flag of the service goes into args, as in args: ["--root", "objects"].';
  await assert.rejects(Storage.spawn({ root: room.root }), refusal(root));
  await assert.rejects(place.list({ maxResult: 1 }), refusal("list has no option maxResult; did you mean maxResults?"));
  await assert.rejects(storage.uploadTask("x").removeAllObservers("sucess"), refusal("There is no status sucess."));
  await assert.rejects(place.getMetadata(), { reason: "objectNotFound" });
});

check("a task that ends before its wait is awaited is no unhandled rejection", async (room) => {
  const { status, output } = await room.run(`
    const tick = () => new Promise((resolve) => setImmediate(resolve));
    await storage.request("harness/arm", { on: "whole", times: null, do: { hold: true } });
    const task = storage.reference("x").putData("x");
    const [waiting, started] = [task.wait(), storage.reference().putData("x").started()];
    await task.cancel();
    await tick();
    await waiting.catch(({ reason }) => console.log(reason));
    await started.catch(({ reason }) => console.log(reason));
  `);
  assert.deepEqual([status, output], [0, "cancelled\ninvalidArgument\n"]);
});

test("a file URL is a path, and any other URL is no file", () => {
  const paths = {
    "file:///a/b%20c%23%3F%25.txt": "/a/b c#?%.txt",
    "file://localhost/a": "/a",
    "FILE://LocalHost/a": "/a",
    "file:/a": "/a",
    "file:///%C3%A4": "/ä",
    "a:/b": join(process.cwd(), "a:/b"),
    "file:a": join(process.cwd(), "file:a"),
    "a/b": join(process.cwd(), "a/b"),
  };
  for (const [given, path] of Object.entries(paths)) assert.equal(localPath(given), path);
  const odd = "/a/ä%20#?\\\n b";
  assert.equal(localPath(pathToFileURL(odd)), odd);
  const refused = {
    "": /empty/,
    "file://host/a": /The host host of a file URL is not this machine/,
    "file://": /absolute path/,
    "file://localhost": /absolute path/,
    "file:///a?b": /%3F/,
    "file:///a#b": /%23/,
    "file:///a%2Fb": /%2F/,
    "file:///a%00": /%00/,
    "file:///%ff": /UTF-8/,
    "file:///%": /UTF-8/,
    "gs://b/a": /^A URL of the scheme gs is no local file.$/,
    "https://h/v0/b/b/o/a?token=SECRET": /^A URL of the scheme https is no local file.$/,
  };
  for (const [given, message] of Object.entries(refused)) assert.throws(() => localPath(given), refusal(message), given);
  assert.throws(() => localPath(new URL("https://h/a")), refusal(/https/));
  assert.throws(() => localPath(5), TypeError);
});

check("file URLs are put and written", async (room) => {
  const storage = await room.spawn();
  const path = await room.file("a b#%.txt", "here");
  const place = storage.reference("x");
  await place.putFile(pathToFileURL(path).href).wait();
  await place.writeToFile(pathToFileURL(join(room.directory, "c d")).href).wait();
  assert.equal(await readFile(join(room.directory, "c d"), "utf8"), "here");
  assert.throws(() => place.putFile("file://host/a"), TypeError);
});

check("a socket with a long path is reached", async (room) => {
  room.directory = join(room.directory, "x".repeat(120));
  await mkdir(room.directory);
  assert.equal(await (await room.connect(await room.serve())).ping(), "pong");
  await assert.rejects(room.connect(join(room.directory, "other")), { message: /No service can be reached at .*other: no such file/ });
});
