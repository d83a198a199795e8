/** What needs no types but those of ECMAScript, neither Node's nor a browser's: it is compiled, and never run. */
import { Storage } from "storage-rpc-client";

const storage: Storage = await Storage.spawn({ shared: true, env: { PATH: "/bin" } });
const bytes: Uint8Array = await storage.reference("x").getData(1024);
await storage.reference("x").putData(bytes).on("pause", ({ task }) => void task.resume()).wait();
await storage[Symbol.asyncDispose]();
await storage.reference("x").putStream([bytes, "text"]).wait();
for await (const piece of storage.reference("x").getStream()) void piece.length;
