import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { MIB, PATIENCE, check, gone, hearing, impatient, pid, statuses } from "./support.js";

const SAY_PID = `console.log((await storage.request("service/status")).pid);`;
const HOLD = `await storage.request("harness/arm", { on: "send", at: ${MIB}, do: { hold: true } });`;

check("a program with an idle session ends by itself, with the service", async (room) => {
  const { status, output } = await room.run(SAY_PID);
  assert.equal(status, 0, output);
  await gone(Number(output));
});

check("process.exit leaves no service behind, whatever is under way", async (room) => {
  const path = await room.largeFile();
  const { status, output } = await room.run(`
    ${HOLD}
    const task = storage.reference("x").putFile(${JSON.stringify(path)});
    await task.started();
    ${SAY_PID}
    process.exit(7);
  `);
  assert.equal(status, 7, output);
  await gone(Number(output));
});

check("a program that is interrupted or killed leaves no service behind", async (room) => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGKILL"]) {
    const child = room.start(`${SAY_PID} await storage.request("uploadTask/list"); setInterval(() => {}, 1000);`);
    const [line] = await once(child.stdout, "data");
    child.kill(signal);
    assert.deepEqual(await once(child, "exit"), [null, signal]);
    await gone(Number(String(line)));
  }
});

check("Ctrl-C is for the program, which may continue", async (room) => {
  const child = room.start(`
    process.once("SIGINT", async () => console.log(await storage.request("service/ping")));
    setTimeout(() => {}, 60_000);
    console.log("ready");
  `, { detached: true });
  await once(child.stdout, "data");
  process.kill(-child.pid, "SIGINT");
  assert.equal(String(await once(child.stdout, "data")), "pong\n");
});

check("a program with a paused task ends, with the service", async (room) => {
  const path = await room.largeFile();
  const { status, output } = await room.run(`
    ${HOLD}
    const task = storage.reference("x").putFile(${JSON.stringify(path)});
    task.on("success", () => console.log("stored")).wait().then(() => console.log("never"));
    await task.pause();
    ${SAY_PID}
  `);
  assert.equal(status, 0, output);
  assert.match(output, /^\d+\n$/);
  await gone(Number(output));
});

check("a task that is resumed keeps the program going again", async (room) => {
  const path = await room.largeFile();
  const { status, output } = await room.run(`
    ${HOLD}
    const task = storage.reference("x").putFile(${JSON.stringify(path)});
    task.on("success", ({ metadata }) => console.log(metadata.size));
    await storage.request("harness/settled");
    await task.pause();
    await task.resume();
  `);
  assert.deepEqual([status, output], [0, `${3 * MIB}\n`]);
});

check("a program that waits for a paused task waits for other clients to resume it", async (room) => {
  const socket = await room.serve();
  const storage = await room.connect(socket);
  for (const wait of ["await task.wait();", "for await (const one of task) void one;"]) {
    const task = await room.running(storage);
    await task.pause();
    await storage.request("harness/disarm");
    const child = room.start(`
      const task = storage.uploadTask(${JSON.stringify(task.id)});
      task.on("pause", () => console.log("paused"));
      ${wait}
      console.log("done");
    `, { socket });
    child.stdin.end();
    let output = "";
    child.stdout.on("data", (chunk) => {
      if (!output) void task.resume();
      output += chunk;
    });
    assert.deepEqual(await once(child, "close"), [0, null]);
    assert.match(output, /done\n$/);
  }
});

check("requests and tasks keep the program going", async (room) => {
  const path = await room.file("x", Buffer.alloc(8 * MIB));
  const { status, output } = await room.run(`
    storage.reference("x").putFile(${JSON.stringify(path)}).on("success", async ({ metadata }) => {
      console.log(metadata.size);
      for await (const { state } of storage.uploadTask((await storage.uploadTasks())[0].task.id)) console.log(state);
    });
  `);
  assert.deepEqual([status, output], [0, `${8 * MIB}\nsuccess\n`]);
});

check("failures without listeners end nothing", async (room) => {
  const { status, output } = await room.run(`
    process.on("unhandledRejection", (error) => { console.log("unhandled", error); process.exit(1); });
    const place = storage.reference("x");
    const ended = [
      place.putFile("/no/such/file"),
      storage.reference().putData("x"),
      place.child("none").writeToFile("/no/such/folder/file"),
      place.putData("x", { signal: AbortSignal.abort() }),
      storage.uploadTask("nobody").on("success", () => {}),
      storage.reference("x".repeat(2000)).putData("x"),
    ].map((task) => new Promise((resolve) => task.once("failure", resolve)));
    await Promise.all(ended);
    const last = place.putFile(process.execPath);
    const over = new Promise((resolve) => last.once("failure", resolve).once("success", resolve));
    process.kill((await storage.request("service/status")).pid, "SIGKILL");
    await over;
    await storage.close();
    console.log("done");
  `);
  assert.deepEqual([status, output], [0, "done\n"]);
});

check("a listener that throws is an uncaught exception, and the session continues", async (room) => {
  const { status, output } = await room.run(`
    process.on("uncaughtException", (error) => console.log(error.message));
    const task = storage.reference("x").putData("x");
    task.on("progress", () => { throw new Error("mine"); });
    await task.wait();
    console.log(await storage.request("service/ping"));
  `);
  assert.deepEqual([status, output.split("\n").sort()], [0, ["", "mine", "pong"]]);
});

check("closing lets tasks end", async (room) => {
  const storage = await room.spawn();
  const id = await pid(storage);
  const task = storage.reference("x").putFile(await room.largeFile(32 * MIB));
  const heard = hearing(task);
  await task.started();
  await storage[Symbol.asyncDispose ?? Symbol.for("nodejs.asyncDispose")]();
  await gone(id);
  assert.equal(statuses(heard).at(-1), "success");
  assert.equal((await task.wait()).size, 32 * MIB);
  await assert.rejects(storage.request("service/ping"), { reason: "serviceGone", message: "The session is closed." });
  await storage.close();
});

check("closing waits for what could not be written yet", async (room) => {
  const storage = await room.spawn();
  const text = "x".repeat(MIB);
  const tasks = Array.from({ length: 20 }, (_, index) => storage.reference(`x${index}`).putData(text));
  await storage.close();
  for (const task of tasks) assert.equal((await task.wait()).size, MIB);
});

check("sessions share the service of a root", async (room) => {
  assert.equal(await pid(await room.share()), await pid(await room.share()));
});

check("a session with a shared service leaves it to the others", async (room, t) => {
  impatient(t);
  await room.serve();
  const shared = { shared: true, args: ["--root", room.root] };
  const [mine, theirs] = [await room.spawn(shared), await room.spawn(shared)];
  const task = await room.running(mine);
  await mine.close();
  const copy = theirs.uploadTask(task.id);
  assert.equal((await copy.snapshot()).state, "running");
  assert.equal(await copy.pause(), true);
  const asked = theirs.request("uploadTask/wait", { task: task.id });
  asked.catch(() => {});
  await theirs.close();
  await assert.rejects(asked, { reason: "serviceGone" });
  assert.equal(await (await room.spawn(shared)).uploadTask(task.id).cancel(), true);
});

check("a private service that serves others continues", async (room, t) => {
  impatient(t, { milliseconds: PATIENCE, grace: 0 });
  for (const drain of [true, false]) {
    const own = { args: ["--root", `${room.root}-${drain}`] };
    const one = await room.spawn(own);
    const [other, service] = [await room.spawn(own), await pid(one)];
    for (const again of [drain, false]) await one.close({ drain: again });
    await assert.rejects(one.request("service/ping"), { reason: "serviceGone", message: "The session is closed." });
    await other.reference("x").putData("x").wait();
    assert.equal(await pid(other), service);
    await other.close();
    await gone(service);
  }
});

check("a variable names the trace of every service", async (room) => {
  const trace = `${room.directory}/session.trace`;
  const storage = await room.spawn({ env: { STORAGE_RPC_TRACE: trace } });
  await storage.close();
  assert.match(await readFile(trace, "utf8"), /"initialize"/);
});

check("a root in use is said, and how to share it", async (room) => {
  const storage = await room.spawn();
  const isSaid = ({ message }) => message.includes(`in use by process ${storage.id}`) && /connect.* In Node that is shared: true/.test(message);
  storage.id = await pid(storage);
  await assert.rejects(room.spawn(), isSaid);
});

check("flags in the words of a service that cannot start are options", async (room) => {
  const said = (message) => ({ name: "ServiceGoneError", message });
  const isNamed = said(/--endpoint is for .*\. In Node, engine and endpoint are options of spawn\.$/);
  await assert.rejects(room.spawn({ args: [], endpoint: "http://x" }), isNamed);
  const storage = await room.share();
  const other = room.spawn({ shared: true, args: ["--root", room.root, "--max-tasks", "7"] });
  await assert.rejects(other, said(/has --max-tasks \d+, not 7; [^;]* ends that one$/));
  await storage.close();
});

check("closing without drain waits for nothing", async (room) => {
  const storage = await room.spawn();
  const id = await pid(storage);
  const task = await room.running(storage);
  const asked = storage.request("uploadTask/wait", { task: task.id });
  asked.catch(() => {});
  const [closing] = [storage.close(), storage.close({ drain: false })];
  await closing;
  await gone(id);
  await assert.rejects(task.wait(), { reason: "serviceGone" });
  await assert.rejects(asked);
});

check("a service that does not end is ended", async (room, t) => {
  impatient(t);
  const storage = await room.fake(`
    process.on("SIGTERM", () => {});
    setInterval(() => {}, 1000);
    say({ id: (await next()).id, result: process.pid });
  `);
  const id = await storage.request("x");
  await storage.close({ drain: false });
  await gone(id);
});

check("a service that is asked to end has time for it", async (room, t) => {
  impatient(t, { milliseconds: PATIENCE });
  const path = `${room.directory}/ended`;
  const storage = await room.fake(`
    for await (const message of lines) void message;
    require("child_process").execFileSync(process.execPath, ["-e", ""]);
    require("fs").writeFileSync(${JSON.stringify(path)}, "in time");
  `);
  await storage.close({ drain: false });
  assert.equal(await readFile(path, "utf8"), "in time");
});
