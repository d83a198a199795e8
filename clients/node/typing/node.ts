/** What people write who have Node's own types: it is compiled, and never run. */
import { type EventEmitter, once } from "node:events";
import { createReadStream } from "node:fs";
import process from "node:process";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { Storage } from "storage-rpc-client";
import type { ServiceGoneError } from "storage-rpc-client";

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
