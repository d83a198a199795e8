import assert from "node:assert/strict";
import { test } from "node:test";
import { Storage } from "../index.js";
import { VERSION, isOlder } from "../src/errors.js";
import { Lines } from "../src/framing.js";
import { check, gone, impatient, pid, statuses } from "./support.js";

const SNAPSHOT = `
const place = { bucket: "b", fullPath: "x", name: "x", url: "gs://b/x" };
const progress = { completedUnitCount: 0, totalUnitCount: 0, fractionCompleted: 1 };
const task = { task: "t", state: "success", progress, reference: place, metadata: { size: 5 } };
const observers = { resume: "1", progress: "2", pause: "3", success: "4", failure: "5" };
const begun = { ...task, status: "resume", state: "queued", observers };
const event = (handle, status) => ({ method: "uploadTask/event", params: { handle, snapshot: { ...task, status } } });
`;

test("lines are the same, wherever chunks end", () => {
  const text = "{}\n\nIt räined 🌧 in 東京\r\n" + "x".repeat(100) + "\nunfinished";
  const bytes = Buffer.from(text);
  const expected = text.split("\n").slice(0, -1);
  for (let size = 1; size <= bytes.length; size++) {
    const lines = new Lines();
    const heard = [];
    for (let start = 0; start < bytes.length; start += size) {
      heard.push(...lines.take(bytes.subarray(start, start + size)));
    }
    assert.deepEqual(heard, expected);
  }
});

check("characters that are cut in two arrive whole", async (room) => {
  const storage = await room.fake(`
    const bytes = Buffer.from(line({ id: (await next()).id, result: "räined 🌧" }));
    for (const byte of bytes) await new Promise((resolve) => process.stdout.write(Buffer.of(byte), resolve));
  `);
  assert.equal(await storage.request("service/ping"), "räined 🌧");
});

check("an event right behind the answer arrives", async (room) => {
  const storage = await room.fake(`${SNAPSHOT}
    const messages = [{ id: (await next()).id, result: begun }, event("1", "resume"), event("4", "success")];
    process.stdout.write(messages.map(line).join(""));
  `);
  const seen = [];
  for await (const snapshot of storage.reference("x").putData("12345")) seen.push(snapshot);
  assert.deepEqual(statuses(seen), ["resume", "success"]);
});

check("what a service says besides does no harm", async (room) => {
  const storage = await room.fake(`
    const { id } = await next();
    say({ method: "news" }); say({ id: 99, result: 1 }); process.stdout.write("\\r\\n\\n");
    say({ method: "uploadTask/event", params: { handle: "unheard" } });
    say({ method: "uploadTask/event" });
    say({ id: null, error: { code: -32700, message: "no JSON" } });
    say({ id, result: "pong" });
  `);
  assert.equal(await storage.request("service/ping"), "pong");
});

check("what is no message ends the session", async (room) => {
  for (const words of ["Hello!", "[1]", '{"a":', "null"]) {
    const storage = await room.fake(`await next(); process.stdout.write(${JSON.stringify(words)} + "\\n");`);
    await assert.rejects(storage.request("service/ping"), { reason: "serviceGone", message: /no message/ });
  }
});

check("answers find their requests in any order", async (room) => {
  const storage = await room.fake(`
    const requests = [await next(), await next(), await next()];
    for (const { id, params } of requests.reverse()) say({ id, result: params.number });
  `);
  const numbers = [1, 2, 3];
  assert.deepEqual(await Promise.all(numbers.map((number) => storage.request("x", { number }))), numbers);
});

check("a signal cancels a request", async (room) => {
  const storage = await room.fake(`
    const request = await next();
    const cancel = await next();
    say({ id: request.id, result: "late" });
    say({ id: (await next()).id, result: [request.id, cancel.method, cancel.params.id, cancel.id] });
  `);
  const controller = new AbortController();
  const asked = storage.request("service/ping", {}, { signal: controller.signal });
  controller.abort(new Error("enough"));
  await assert.rejects(asked, { message: "enough" });
  await assert.rejects(storage.request("service/ping", {}, { signal: controller.signal }), { message: "enough" });
  const [number, method, cancelled, id] = await storage.request("service/ping");
  assert.deepEqual([method, cancelled, id], ["$/cancelRequest", number, null]);
});

check("the real service ends a wait that is cancelled", async (room) => {
  const storage = await room.spawn();
  const task = await room.running(storage);
  await task.pause();
  const controller = new AbortController();
  const wait = storage.request("uploadTask/wait", { task: task.id }, { signal: controller.signal });
  await storage.request("service/ping");
  controller.abort();
  await assert.rejects(wait, { name: "AbortError" });
  assert.equal(await task.cancel(), true);
});

check("ten thousand concurrent requests are all answered", async (room) => {
  const storage = await room.spawn();
  const paths = Array.from({ length: 10_000 }, (_, index) => "ä".repeat(200) + index);
  const answers = await Promise.all(paths.map((path) => storage.request("storage/reference", { path })));
  assert.deepEqual(answers.map((one) => one.fullPath), paths);
});

check("nothing is written that the service has no room for", async (room) => {
  const storage = await room.fake(`
    const first = await next();
    process.stdin.pause();
    setInterval(() => {}, 1000);
    process.on("SIGUSR2", () => process.stdin.resume());
    say({ id: first.id, result: process.pid });
    for (let count = 0; ; count++) {
      const { id, method, params } = await next();
      say({ id, result: method === "last" ? count : params.text.length });
    }
  `);
  const id = await storage.request("first");
  const controller = new AbortController();
  const text = "x".repeat(100_000);
  const asked = Array.from({ length: 100 }, () => storage.request("say", { text }));
  const unsent = storage.request("say", { text }, { signal: controller.signal });
  controller.abort();
  await assert.rejects(unsent, { name: "AbortError" });
  const last = storage.request("last");
  process.kill(id, "SIGUSR2");
  assert.deepEqual(new Set(await Promise.all(asked)), new Set([100_000]));
  assert.equal(await last, 100);
});

check("a message that is too long is not sent", async (room) => {
  const storage = await room.fake(`say({ id: (await next()).id, result: "pong" });`);
  const task = storage.reference("x").putData("x".repeat(1 << 20));
  await assert.rejects(task.wait(), { reason: "invalidRequest", message: /putFile/ });
  assert.equal(await storage.request("service/ping"), "pong");
});

check("one that ends with words fails all that wait, and says how", async (room) => {
  const storage = await room.fake(`${SNAPSHOT}
    say({ id: (await next()).id, result: begun });
    await next();
    process.stderr.write("one\\nthe disk is full\\n", () => process.exit(3));
  `);
  const task = storage.reference("x").putData("x");
  await task.started();
  const iteration = task[Symbol.asyncIterator]();
  const asked = storage.request("service/ping");
  const expected = {
    name: "ServiceGoneError", reason: "serviceGone", exitCode: 3, signal: null, stderr: ["one", "the disk is full"],
    message: "The service ended with status 3: one\nthe disk is full",
  };
  for (const wait of [asked, task.wait()]) await assert.rejects(wait, expected);
  assert.equal((await iteration.next()).value.status, "failure");
  await assert.rejects(iteration.next(), expected);
  await assert.rejects(storage.request("service/ping"), expected);
  await assert.rejects(storage.reference("x").putData("x").wait(), expected);
});

check("one that only closes its output is ended", async (room, t) => {
  impatient(t);
  const storage = await room.fake(`
    setInterval(() => {}, 1000);
    say({ id: (await next()).id, result: process.pid });
    await next();
    require("fs").closeSync(1);
  `);
  const id = await storage.request("x");
  await assert.rejects(storage.request("x"), { reason: "serviceGone", message: "The service has closed its output." });
  await gone(id);
});

check("a service on a socket that ends fails all that wait", async (room) => {
  const storage = await room.connect(await room.serve());
  const task = await room.running(storage);
  process.kill(await pid(storage), "SIGKILL");
  await assert.rejects(task.wait(), { reason: "serviceGone", message: "The service has closed the connection." });
});

check("one that is killed", async (room) => {
  const storage = await room.spawn();
  const task = await room.running(storage);
  const waits = [task.wait(), storage.request("uploadTask/wait", { task: task.id })];
  process.kill(await pid(storage), "SIGKILL");
  const expected = { signal: "SIGKILL", exitCode: null, message: /ended by SIGKILL/ };
  for (const wait of waits) await assert.rejects(wait, expected);
});

check("what is not there cannot be reached", async (room) => {
  await assert.rejects(Storage.spawn({ program: "/no/such/program" }), {
    reason: "serviceGone", message: /"\/no\/such\/program" cannot be started: no such file.*STORAGE_RPC/,
  });
  await assert.rejects(Storage.connect("/no/such/socket"), { reason: "serviceGone", message: /\/no\/such\/socket/ });
  await room.file("root", "in the way");
  await assert.rejects(room.spawn(), ({ exitCode, message }) => exitCode === 1 && message.includes(room.root));
});

const ASK = `
  const request = await next();
  say({ id: "ask", method: "auth/refreshToken", params: { kind: "idToken", reason: "expired" } });
  say({ id: request.id, result: await next() });
`;

check("the service asks for a token", async (room) => {
  const answers = ["fresh", { token: "fresh", expiresIn: 3600 }, null, undefined, Promise.resolve("fresh")];
  for (const answer of answers) {
    const asked = [];
    const onRefreshToken = (...what) => (asked.push(what), answer);
    const storage = await room.fake(ASK, { onRefreshToken });
    const result = (await answer) ?? null;
    assert.deepEqual(await storage.request("x"), { jsonrpc: "2.0", id: "ask", result });
    assert.deepEqual(asked, [["idToken", "expired"]]);
  }
});

check("what the service asks in vain is answered too", async (room) => {
  const unknown = { code: -32601, message: 'There is no method "auth/refreshToken".' };
  assert.deepEqual((await (await room.fake(ASK)).request("x")).error, unknown);
  const other = await room.fake(ASK.replace("auth/refreshToken", "window/ask"), { onRefreshToken: () => "fresh" });
  assert.equal((await other.request("x")).error.code, -32601);
  const warned = new Promise((resolve) => process.once("warning", resolve));
  const failing = await room.fake(ASK, {
    onRefreshToken: () => {
      throw new RangeError("secret");
    },
  });
  const error = { code: -32603, message: "auth/refreshToken failed in the client." };
  assert.deepEqual((await failing.request("x")).error, error);
  assert.equal((await warned).message, "auth/refreshToken failed in the client: RangeError");
});

check("an older service that lacks a method says so", async (room) => {
  const program = `
    for (const code of [-32601, -32602]) say({ id: (await next()).id, error: { code, message: "no" } });
  `;
  const storage = await room.fake(program);
  const message = `The service, storage-rpc 0.0.9, is older than this client, ${VERSION}, and has no method "x/y".`;
  await assert.rejects(storage.request("x/y"), { code: -32601, reason: "methodNotFound", message });
  await assert.rejects(storage.request("x/y"), { code: -32602, message: "no" });
  const same = await room.spawn();
  await assert.rejects(same.request("x/y"), { message: 'There is no method "x/y".' });
  assert.equal((await same.request("service/status")).version, VERSION);
  const pairs = [["0.0.9", "0.1"], ["0.9", "0.10.0"], ["0.1", "0.1.0"], ["0.1.0-beta", "0.1.0"], ["1.0", "0.9"], ["unknown", "1"]];
  assert.deepEqual(pairs.map((pair) => isOlder(...pair)), [true, true, true, false, false, false]);
});
