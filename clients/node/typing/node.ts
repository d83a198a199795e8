/** What people write who have Node's own types: it is compiled, and never run. */
import { type EventEmitter, once } from "node:events";
import process from "node:process";
import { Storage } from "storage-rpc-client";
import type { ServiceGoneError } from "storage-rpc-client";

const storage = await Storage.spawn({ shared: true, env: process.env });
const task = storage.reference("x").putFile(new URL("file:///x"), { signal: new AbortController().signal });
const emitter: EventEmitter = task;
const [snapshot] = await once(task, "success");
declare const gone: ServiceGoneError;
console.log(snapshot, emitter.listenerCount("success"), gone.signal === "SIGKILL");
