/** What people write who have Node's own types: it is compiled, and never run. */
import { type EventEmitter, once } from "node:events";
import { createReadStream } from "node:fs";
import process from "node:process";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import test from "node:test";
import { createGzip } from "node:zlib";
import { Storage } from "storage-rpc-client";
import type { ServiceGoneError } from "storage-rpc-client";
import { withGateway } from "storage-rpc-client/harness";
import type { GatewayScene } from "storage-rpc-client/harness";

const storage = await Storage.spawn({ shared: true, env: process.env });
const task = storage.reference("x").putFile(new URL("file:///x"), { signal: new AbortController().signal });
const emitter: EventEmitter = task;
const [snapshot] = await once(task, "success");
declare const gone: ServiceGoneError;
console.log(snapshot, emitter.listenerCount("success"), gone.signal === "SIGKILL");

const upload = storage.reference("x").putStream({ size: 3 });
await pipeline(storage.reference("x").getStream({ offset: 3 }), createGzip(), upload);
const web: object = Readable.toWeb(storage.reference("x").getStream());
const size: number = (await storage.reference("x").putStream(createReadStream("x")).wait()).size;
console.log(web, size, upload.writableLength, await upload.task.started());

test("a report is stored", async (t) => {
  const scene: GatewayScene = await withGateway(t, { bucket: "reports", setsEnvironment: false });
  await scene.harness.authorize({ default: "deny" });
  const { gateway = scene.host } = await scene.harness.space({ space: "main", gateway: true });
  console.log(gateway, new URL(scene.url).port, scene.environment.STORAGE_EMULATOR_HOST);
});
