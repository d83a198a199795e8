/**
 * A service of its own for one test of node:test, with its harness; both are gone when the test ends.
 *
 *     test("an upload stops at 40 %", async (t) => {
 *       const { storage, harness } = await withHarness(t);
 *       await harness.arm({ on: "send", at: 4 << 20, do: { hold: true } });
 *
 * `withGateway` has an address for SDKs of Firebase and Google Cloud, too.
 *
 * protocol/harness.md describes the params.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ServiceGoneError, Storage } from "./index.js";
import { isShort } from "./src/files.js";

const METHODS = ["arm", "disarm", "release", "clock", "settled", "journal", "space", "authorize", "seed", "save", "reset"];
const PREFIX = "storage-rpc-";
const SHOWN = 20; // entries of the journal in the diagnostics of a test that has failed

export async function withHarness(t, options = {}) {
  const directory = await mkdtemp(join(place(), PREFIX));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const socket = join(directory, "socket");
  const args = ["serve", "--harness", "--stdio", "--socket", socket];
  const storage = await Storage.spawn({ ...options, args: [...args, ...(options.args ?? [])] });
  const ask = (name) => [name, (params) => storage.request(`harness/${name}`, params)];
  const harness = Object.fromEntries(METHODS.map(ask));
  harness.waitFor = (pattern, { signal } = {}) => waitFor(storage, pattern, signal);
  t.after(async () => {
    try {
      await check(t, harness);
    } finally {
      await storage.close({ drain: false });
    }
  });
  return { storage, harness, socket };
}

/** Whether a test has set the variables for SDKs: they are those of the process. */
let isTaken = false;

export async function withGateway(t, { setsEnvironment = true, ...options } = {}) {
  const { storage, harness, socket } = await withHarness(t, options);
  const { gateway: host } = await harness.space({ space: "main", gateway: true });
  const environment = { STORAGE_EMULATOR_HOST: `http://${host}`, FIREBASE_STORAGE_EMULATOR_HOST: host };
  if (setsEnvironment) set(t, environment);
  return { storage, harness, socket, host, url: `http://${host}`, environment };
}

/** Sets variables of the process until the end of the test. */
function set(t, environment) {
  if (isTaken) {
    throw new Error(
      "Another test of this process has a gateway in its variables: with setsEnvironment: false, give environment to " +
        "the program under test, or let the tests run one after the other.",
    );
  }
  isTaken = true;
  const before = Object.keys(environment).map((name) => [name, process.env[name]]);
  Object.assign(process.env, environment);
  t.after(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    isTaken = false;
  });
}

/** An object whose path fits the pattern, once there is one: `**` fits anything, `*` all but a slash. */
async function waitFor(storage, pattern, signal = AbortSignal.timeout(30_000)) {
  const [, bucket = storage.defaultBucket, path] = /^(?:gs:\/\/([^/]+)\/)?(.*)$/s.exec(pattern);
  const wanted = new RegExp(`^${path.replace(/\*\*|[*?]|[.+^${}()|[\]\\/]/g, fitting)}$`, "s");
  const root = await storage.reference("", { bucket });
  const listed = async () => {
    for (let pageToken; ; ) {
      const page = await root.list({ recursive: true, pageToken, signal });
      const found = page.items.find(({ fullPath }) => wanted.test(fullPath));
      if (found || !page.pageToken) return found;
      pageToken = page.pageToken;
    }
  };
  const changes = await root.changes({ signal });
  try {
    const found = await listed();
    if (found) return found;
    for await (const { change, reference } of changes) {
      if (change === "missed") {
        const found = await listed();
        if (found) return found;
      } else if (change !== "deleted" && wanted.test(reference.fullPath)) {
        return reference;
      }
    }
  } finally {
    await changes.return();
  }
}

function fitting(piece) {
  return { "**": ".*", "*": "[^/]*", "?": "[^/]" }[piece] ?? `\\${piece}`;
}

/** The first directory in which the socket has a path that every program can connect to. */
function place() {
  const places = [tmpdir(), process.env.XDG_RUNTIME_DIR, "/tmp"].filter(Boolean);
  return places.find((one) => isShort(join(one, `${PREFIX}XXXXXX`, "socket"))) ?? places[0];
}

/** A test fails where a rule that it armed never struck. Before Node 20.12 a test does not know whether it has failed. */
async function check(t, harness) {
  let report;
  try {
    report = [await harness.journal(), await harness.disarm()];
  } catch (error) {
    if (error instanceof ServiceGoneError) return; // the test has ended it
    throw error;
  }
  const [{ entries }, { unfired }] = report;
  if (t.passed === false || unfired.length > 0) {
    for (const { number, on, reference, outcome } of entries.slice(-SHOWN)) {
      t.diagnostic(`${number} ${on} ${reference} ${outcome}`);
    }
  }
  const complaint = `Rules that never struck: ${unfired.join(", ")}`;
  if (unfired.length === 0) return;
  if (t.passed === false) t.diagnostic(complaint);
  else throw new Error(complaint);
}
