import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import client from "../index.js";
import { METHODS } from "../src/methods.js";
import { check } from "./support.js";

const KINDS = ["upload", "download", "folder"];

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
const declarations = read("../index.d.ts");
const rendered = read("../src/methods.d.ts");
const compiler = spawnSync("tsc", ["--version"]).status === 0;

/** The text between a line that begins so and the brace that ends it. */
const block = (head) => `${declarations}${rendered}`.split(`\n${head}`)[1]?.split("\n}\n")[0] ?? "";
const names = (head) => [...block(head).matchAll(/^ {2}(?:static |readonly )*(\w+)[?(:<]/gm)].map((match) => match[1]);

const isPublic = (name) => !name.startsWith("_") && name !== "constructor";
const own = (type) => Object.getOwnPropertyNames(type).filter(isPublic);

test("all that is exported is declared, with all its members, and nothing else is", () => {
  const exported = [...declarations.matchAll(/^export class (\w+)/gm)].map((match) => match[1]);
  assert.deepEqual(exported.sort(), Object.keys(client).sort());
  const tasks = [Object.getPrototypeOf(client.UploadTask), client.UploadTask, client.FolderTask];
  const classes = [client.Storage, client.Reference, client.StorageError, ...tasks];
  for (const type of classes) {
    const statics = ["length", "name", "prototype", "fromWire", "cancelled", "kind", "outcome"];
    const inherited = [client.StorageError, ...tasks.slice(1)].includes(type) ? [] : own(Object.getPrototypeOf(type.prototype));
    const members = [...own(type.prototype), ...own(type).filter((name) => !statics.includes(name)), ...inherited];
    const head = type.name === "Task" ? "declare class Task<" : `export class ${type.name} `;
    const declared = [...names(head), ...names(`export class ${type.name}Methods `)];
    const set = ["code", "reason", "data", "path", "errno", "bucket", "fullPath", "object", "constructor", "protected"];
    const known = members.filter((name) => name !== "name" || type === client.Reference);
    assert.deepEqual(new Set(declared.filter((name) => !set.includes(name))), new Set(known), type.name);
  }
});

test("what the client asks for is in the table", () => {
  const files = ["changes", "connection", "reference", "session", "storage", "streams", "task"];
  const asked = [...files.map((name) => read(`../src/${name}.js`)).join("").matchAll(/"([a-z]+\/[a-zA-Z]+)"/g)].map((match) => match[1]);
  const others = ["auth/refreshToken", "storage/changed", ...METHODS, ...KINDS.map((kind) => `${kind}Task/event`)];
  assert.ok(asked.includes("reference/putFile"));
  assert.deepEqual(asked.filter((name) => !others.includes(name)), []);
});

check("the table is what the service can be asked for", async (room) => {
  const storage = await room.spawn({ args: ["--root", room.root] });
  assert.deepEqual((await storage.request("initialize")).methods, [...METHODS]);
  assert.equal(await storage.ping(), "pong");
  assert.equal((await storage.discover()).info.title, "storage-rpc");
});

const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const typing = (...names) => names.map((name) => file(`../typing/${name}.mts`));
const without = (what) => (found) => ({ skip: found ? false : `there is no ${what}` });

/** What the compiler of the PATH finds wrong; not in the types of others, which may lack some of their own. */
function compile(...given) {
  const options = "--noEmit --strict --module node16 --target es2022 --typeRoots".split(" ");
  const { stdout, error } = spawnSync("tsc", [...options, ...given], { cwd: file(".."), encoding: "utf8" });
  assert.equal(error, undefined);
  return stdout.split("\n").filter((line) => line && !line.includes("/@types/"));
}

test("the declarations compile without Node's types", without("tsc")(compiler), () => {
  assert.deepEqual(compile("none", "--lib", "es2022", ...typing("bare")), []);
  assert.deepEqual(compile("none", "--lib", "es2022,dom", ...typing("bare", "use")), []);
});

const types = process.env.NODE_TYPES ?? "/usr/share/nodejs/@types";

test("they compile with Node's types", without(`${types}/node`)(compiler && existsSync(`${types}/node`)), () => {
  for (const lib of ["es2022", "es2022,dom"]) {
    const files = [...typing("bare", "use", "node", "buffer"), file("../typing/common.cts")];
    assert.deepEqual(compile(types, "--types", "node", "--lib", lib, ...files), [], lib);
  }
});

const deno = process.env.DENO ?? "deno";
const isNewer = spawnSync(deno, ["--version"]).status === 0;

test("they compile with TypeScript 5, which deno has", without(deno)(isNewer), async () => {
  const directory = await mkdtemp(join(tmpdir(), "storage-rpc-"));
  const at = (path) => new URL(path, import.meta.url).href;
  const names = {
    "storage-rpc-client": "../index", "storage-rpc-client/harness": "../harness",
    [at("../index.js")]: "../index", [at("../src/methods.js")]: "../src/methods",
  };
  const imports = Object.fromEntries(Object.entries(names).map(([name, path]) => [name, at(`${path}.d.ts`)]));
  await writeFile(join(directory, "deno.json"), JSON.stringify({ imports, compilerOptions: { strict: true } }));
  const given = ["check", "--config", join(directory, "deno.json"), ...typing("bare", "use", "node")];
  const { status, stderr } = spawnSync(deno, given, { encoding: "utf8", env: { ...process.env, DENO_DIR: directory } });
  await rm(directory, { recursive: true });
  assert.equal(status, 0, stderr);
});
