/**
 * Uploads a file and shows how it goes: `node example.mjs FILE REFERENCE`. Ctrl-C pauses the upload, as does a kill; the
 * same command resumes it. The exit status after Ctrl-C is 130.
 */
import { ProgressBar, Storage } from "storage-rpc-client";

const [file, place] = process.argv.slice(2);
const storage = await Storage.spawn();
const reference = storage.reference(place);
const bar = new ProgressBar();
process.once("SIGINT", () => {
  bar.close();
  console.error("paused; the same command resumes the upload");
  process.exit(130);
});

const task = reference.putFile(file, { key: `${file} to ${reference}` });
try {
  await task.started();
  if (task.continued) console.error(`resuming ${file}`);
  task.on("progress", bar.show);
  const { size, md5Hash } = await task.wait();
  bar.close();
  console.log(`${reference}: ${size} bytes, MD5 ${md5Hash}`);
} catch (error) {
  bar.close();
  console.error(`${error.reason}: ${error.message}`);
  process.exitCode = 1;
}
await storage.close();
