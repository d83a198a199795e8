/**
 * What becomes of the tasks of a program that ends early, and of one that is run again. The engine is another service, whose
 * harness holds each upload after its first MiB.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, open, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Storage } from "../index.js";
import { check as checkRoom, holdAt, MIB, program } from "./support.js";

const EXAMPLE = fileURLToPath(new URL("../example.mjs", import.meta.url));
const SIZE = 16 * MIB;

async function until(condition) {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** A test whose sessions have the options `engine`, and whose uploads `harness` holds. */
function check(name, body) {
  checkRoom(name, async (room) => {
    const harness = await room.spawn();
    const { gateway } = await harness.request("harness/space", { gateway: true });
    const hold = () => holdAt(harness, MIB);
    await hold();
    const own = ["--root", `${room.root}-own`];
    const engine = { program, engine: "gcs", endpoint: `http://${gateway}`, args: own };
    const held = () => until(async () => (await harness.request("harness/settled")).held.length);
    const release = () => harness.request("harness/disarm");
    await body({ room, engine, hold, held, release, own, film: await room.largeFile(SIZE) });
  });
}

/** A session with a service, and the socket at which others reach it. */
async function serve({ room, engine, own }) {
  const socket = `${room.directory}/engine-socket`;
  const args = ["--log-level", "error", "--stdio", "--socket", socket, ...own];
  return { other: room.keep(await Storage.spawn({ ...engine, args })), socket };
}

const stateOf = async (storage, task) => (await storage.uploadTask(task.id).snapshot()).state;
const paused = (storage, task) => until(async () => (await stateOf(storage, task)) === "paused");

check("the example resumes after an interrupt and a kill", async ({ room, engine, hold, held, release, own, film }) => {
  const service = `${room.directory}/service`;
  const words = [program, "--engine", engine.engine, "--endpoint", engine.endpoint, ...own];
  await writeFile(service, `#!/bin/sh\nexec ${words.join(" ")} "$@"\n`);
  await chmod(service, 0o755);
  const start = (signal) => {
    const child = spawn(process.execPath, [EXAMPLE, film, `films/${signal}.mov`], { env: { ...process.env, STORAGE_RPC: service } });
    child.said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (child.said += text));
    return child;
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGKILL"]) {
    await hold();
    const first = start(signal);
    await held();
    first.kill(signal);
    const isInterrupt = signal === "SIGINT";
    assert.deepEqual(await once(first, "close"), isInterrupt ? [130, null] : [null, signal]);
    if (isInterrupt) assert.match(first.said, /paused; the same command resumes the upload\n$/);
    await release();
    const again = start(signal);
    assert.deepEqual(await once(again, "close"), [0, null], again.said);
    assert.match(again.said, /resuming .*: 16777216 bytes/s);
  }
});

check("a session has an engine and its endpoint", async ({ room, engine }) => {
  const storage = room.keep(await Storage.spawn(engine));
  assert.equal((await storage.status()).engine, "gcs");
  await storage.reference("x").putData("x").wait();
  await assert.rejects(Storage.spawn({ program, engine: "gs" }), {
    name: "TypeError",
    message: "There is no engine gs; there are embedded, firebase, gcs, s3.",
  });
});

check("a private session pauses its tasks, also in the service of another client", async ({ room }) => {
  const own = { program, args: ["--root", `${room.root}-shared`] };
  const [other, one] = [room.keep(await Storage.spawn(own)), room.keep(await Storage.spawn(own))];
  assert.equal((await other.status()).pid, (await one.status()).pid);
  const path = `${room.directory}/huge.bin`;
  const file = await open(path, "w");
  await file.truncate(8 * 1024 * MIB);
  await file.close();
  const task = one.reference("x").putFile(path);
  await task.started();
  await one.close({ drain: false });
  await paused(other, task);
});

check("the tasks of a session pause with it, and a key resumes them", async (scene) => {
  const { other, socket } = await serve(scene);
  const one = await scene.room.connect(socket, { pausesTasks: true });
  const task = one.reference("x").putFile(scene.film, { key: "film" });
  await scene.held();
  assert.equal(task.continued, false);
  await one.close({ drain: false });
  await paused(other, task);
  await scene.release();
  const again = other.reference("x").putFile(scene.film, { key: "film" });
  assert.equal(await again.started(), task.id);
  assert.equal(again.continued, true);
  assert.equal((await again.wait()).size, SIZE);
});

check("they continue otherwise", async (scene) => {
  const { other, socket } = await serve(scene);
  const one = await scene.room.connect(socket);
  const task = one.reference("x").putFile(scene.film);
  await scene.held();
  await one.close({ drain: false });
  await until(async () => (await other.status()).connections === 1);
  assert.equal(await stateOf(other, task), "running");
});

check("closing waits for running tasks, and for no paused one", async (scene) => {
  const { other, socket } = await serve(scene);
  const one = await scene.room.connect(socket, { pausesTasks: true });
  const [task, resting] = ["x", "y"].map((name) => one.reference(name).putFile(scene.film));
  await scene.held();
  assert.equal(await resting.pause(), true);
  const asked = one.request.bind(one);
  const closing = one.close();
  assert.equal(await asked("service/ping"), "pong"); // The session is still open.
  await scene.release();
  await closing;
  assert.equal(await stateOf(other, task), "success");
  assert.equal(await stateOf(other, resting), "paused");
});
