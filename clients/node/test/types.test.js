import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import * as client from "../index.js";
import { METHODS } from "../src/methods.js";
import { check } from "./support.js";

const KINDS = ["upload", "download"];

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
  const classes = [client.Storage, client.Reference, client.StorageError, Object.getPrototypeOf(client.UploadTask)];
  for (const type of classes) {
    const statics = ["length", "name", "prototype", "fromWire", "cancelled"];
    const inherited = type === client.StorageError ? [] : own(Object.getPrototypeOf(type.prototype));
    const members = [...own(type.prototype), ...own(type).filter((name) => !statics.includes(name)), ...inherited];
    const head = type.name === "Task" ? "declare class Task " : `export class ${type.name} `;
    const declared = [...names(head), ...names(`export class ${type.name}Methods `)];
    const set = ["code", "reason", "data", "bucket", "fullPath", "object", "constructor", "protected"];
    const known = members.filter((name) => name !== "name" || type === client.Reference);
    assert.deepEqual(new Set(declared.filter((name) => !set.includes(name))), new Set(known), type.name);
  }
});

test("what the client asks for is in the table", () => {
  const files = ["connection", "reference", "session", "storage", "task"];
  const asked = [...files.map((name) => read(`../src/${name}.js`)).join("").matchAll(/"([a-z]+\/[a-zA-Z]+)"/g)].map((match) => match[1]);
  const others = ["auth/refreshToken", ...METHODS, ...KINDS.map((kind) => `${kind}Task/event`)];
  assert.ok(asked.includes("reference/putFile"));
  assert.deepEqual(asked.filter((name) => !others.includes(name)), []);
});

check("the table is what the service can be asked for", async (room) => {
  const storage = await room.spawn();
  assert.deepEqual((await storage.request("initialize")).methods, [...METHODS]);
  assert.equal(await storage.ping(), "pong");
  assert.equal((await storage.discover()).info.title, "storage-rpc");
});

test("the declarations compile, and fit what people write", { skip: compiler ? false : "there is no tsc on the PATH" }, () => {
  const options = "--noEmit --strict --module node16 --target es2022 --lib es2022,dom".split(" ");
  const files = ["../typing/node.d.ts", "../typing/use.ts"].map((name) => fileURLToPath(new URL(name, import.meta.url)));
  const { status, stdout } = spawnSync("tsc", [...options, ...files]);
  assert.equal(status, 0, String(stdout));
});
