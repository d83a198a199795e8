/** Where Buffer is a global, bytes are one: it is compiled, and never run. */
import { Storage } from "storage-rpc-client";

const storage = await Storage.spawn();
const text: string = (await storage.reference("x").getData(1024)).toString("utf8", 0, 10);
console.log(text);
