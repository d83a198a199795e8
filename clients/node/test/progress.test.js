import assert from "node:assert/strict";
import { test } from "node:test";
import { ProgressBar } from "../index.js";

/** What a bar writes for snapshots with these numbers of bytes. */
function shown(counts, { isTTY = true, columns = 80, variables = {}, ...others } = {}) {
  const before = { TERM: process.env.TERM, NO_COLOR: process.env.NO_COLOR };
  for (const name of Object.keys(before)) delete process.env[name];
  Object.assign(process.env, variables);
  let text = "";
  const bar = new ProgressBar({ isTTY, columns, write: (piece) => (text += piece) });
  for (const [name, value] of Object.entries(before)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  for (const count of counts) {
    const progress = { completedUnitCount: count, totalUnitCount: 2000, fractionCompleted: count / 2000 };
    bar.show({ progress, ...others });
  }
  bar.close();
  return text;
}

test("a bar is drawn over itself, as the program draws it", () => {
  assert.match(shown([500, 2000]), /^\r\[#{7}\.{23}\] 25%  500 bytes of 2\.0 KiB\x1b\[K\r\[#+\] 100%.*\x1b\[K\n$/);
  assert.equal(shown([]), "");
});

test("a bar has a colour on a terminal without NO_COLOR, and fits its width", () => {
  assert.match(shown([500], { variables: { TERM: "xterm" } }), /^\r\x1b\[32m\[#{7}\.{23}\]\x1b\[0m 25%/);
  assert.match(shown([500], { variables: { TERM: "xterm", NO_COLOR: "1" } }), /^\r\[#/);
  assert.match(shown([500], { variables: { TERM: "dumb" } }), /^\r\[#/);
  assert.equal(shown([500], { columns: 16 }), "\r[#......] 25%\x1b[K\n");
});

test("elsewhere each tenth is a line", () => {
  const counts = Array.from({ length: 401 }, (_, number) => number * 5);
  const lines = shown(counts, { isTTY: false }).split("\n");
  assert.equal(lines.length, 11);
  assert.match(lines[0], /^200 bytes of 2\.0 KiB \(10%\), [\d.]+ \w+\/s, \d+:\d\d left$/);
});

test("a folder counts its files, and a wait is shown", () => {
  const files = { total: 4, completed: 1, unchanged: 1, toDelete: 2, deleted: 1, refused: 0, failed: 1 };
  assert.match(shown([1000], { files }), /2 of 4 files, 1 of 2 deleted, 1 failed  50%  1\.0 KiB of 2\.0 KiB/);
  assert.match(shown([1000], { files, isPlanned: false }), /^\r4 files found  1\.0 KiB\x1b/);
  const retry = { attempt: 2, of: "upload", at: new Date(0), error: { message: "Nobody answers." } };
  assert.match(shown([500], { retry }), /^Nobody answers\. Attempt 2 of upload, next in 0 s\.\n\r\[/);
});
