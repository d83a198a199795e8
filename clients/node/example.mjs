/** Uploads a file and shows how it goes; Ctrl-C cancels: `node example.js FILE REFERENCE`. */
import { Storage } from "storage-rpc-client";

const [file, place] = process.argv.slice(2);
const storage = await Storage.spawn();
const interrupted = new AbortController();
process.once("SIGINT", () => interrupted.abort());

const task = storage.reference(place).putFile(file, { signal: interrupted.signal });
try {
  for await (const { status, progress } of task) {
    console.log(status, `${progress.completedUnitCount} of ${progress.totalUnitCount} bytes`);
  }
  console.log(await task.wait());
} catch (error) {
  console.error(`${error.reason}: ${error.message}`);
  process.exitCode = 1;
}
await storage.close();
