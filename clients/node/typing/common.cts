/** What people write in CommonJS: it is compiled, and never run. */
import { Storage } from "storage-rpc-client";
import harness = require("storage-rpc-client/harness");

export async function size(): Promise<number> {
  const { storage, close } = await harness.openHarness({ env: { PATH: "/bin" } });
  const { url } = await harness.openGateway();
  await close();
  return (storage instanceof Storage ? url : "").length;
}
