"use strict";
const assert = require("node:assert/strict");
const { afterEach, beforeEach, test } = require("node:test");
const { Storage } = require("../index.js");
const { openGateway, openHarness } = require("../harness.js");

let scene;
beforeEach(async () => {
  scene = await openHarness();
});
afterEach(() => scene.close());

test("require and import lead to the same client", async () => {
  assert.equal((await import("../index.js")).Storage, Storage);
  assert.ok(scene.storage instanceof Storage);
  await scene.storage.reference("note").putData("x").wait();
  assert.equal(String(await scene.storage.reference("note").getData(1)), "x");
});

test("each test has an empty service, and its rules have to strike", async () => {
  assert.deepEqual((await scene.storage.reference().listAll()).items, []);
  await scene.harness.arm({ on: "send", rule: "never", do: { hold: true } });
  const told = [];
  await scene.close({ passed: false, diagnostic: (line) => told.push(line) });
  assert.deepEqual(told.slice(-1), ["Rules that never struck: never"]);
  scene = await openHarness();
  await scene.harness.arm({ on: "send", rule: "never", do: { hold: true } });
  await assert.rejects(scene.close(), { message: "Rules that never struck: never" });
  scene = await openHarness();
});

test("a gateway restores its variables", async () => {
  const before = process.env.STORAGE_EMULATOR_HOST;
  const { url, close } = await openGateway();
  assert.equal(process.env.STORAGE_EMULATOR_HOST, url);
  await close();
  assert.equal(process.env.STORAGE_EMULATOR_HOST, before);
  await assert.rejects(openHarness({ args: ["--no-such-flag"] }), { reason: "serviceGone" });
});
