"use strict";
/** The progress of a task on a terminal, as `storage-rpc` shows it; elsewhere a line for each tenth. */
class ProgressBar {
  #stream;
  #isColoured;
  #start;
  #tenth = 0;
  #isWithinLine = false;

  constructor(stream = process.stderr) {
    this.#stream = stream;
    this.#isColoured = stream.isTTY && !["", "dumb"].includes(process.env.TERM ?? "") && !process.env.NO_COLOR;
  }

  /** The observer of a task's progress. */
  show = ({ progress, retry, files, isPlanned = true }) => {
    if (retry) {
      this.close();
      const seconds = Math.max(0, Math.round((new Date(retry.at) - Date.now()) / 1000));
      this.#stream.write(`${retry.error.message} Attempt ${retry.attempt} of ${retry.of}, next in ${seconds} s.\n`);
    }
    const [done, total] = [progress.completedUnitCount, isPlanned ? progress.totalUnitCount : 0];
    const fraction = total ? progress.fractionCompleted : 0;
    const counts = files ? [isPlanned ? counted(files) : `${files.total} files found`] : [];
    const percent = total ? [`${Math.floor(fraction * 100)}%`] : [];
    const sizes = total ? `${size(done)} of ${size(total)}` : size(done);
    const [rate, left] = this.#speed(done, total);
    if (this.#stream.isTTY) {
      this.#isWithinLine = true;
      const texts = [
        [...counts, ...percent, sizes, ...rate, ...left],
        [...counts, ...percent, sizes, ...rate],
        [...counts, ...percent, sizes],
        [...counts, ...percent],
        total ? percent : [sizes],
      ];
      this.#stream.write(`\r${this.#line(texts, total ? fraction : undefined)}\x1b[K`);
    } else if (Math.floor(fraction * 10) > this.#tenth) {
      this.#tenth = Math.floor(fraction * 10);
      const parts = [...counts, `${sizes} (${percent})`, ...rate, ...left.map((time) => `${time} left`)];
      this.#stream.write(`${parts.join(", ")}\n`);
    }
  };

  /** Ends the line of the bar, if there is one. */
  close() {
    if (this.#isWithinLine) this.#stream.write("\n");
    this.#isWithinLine = false;
  }

  /** The rate since the first snapshot, and the time that is left at this rate. */
  #speed(done, total) {
    this.#start ??= { time: performance.now(), done };
    const rate = (done - this.#start.done) / Math.max((performance.now() - this.#start.time) / 1000, 0.001);
    if (rate < 1) return [[], []];
    return [[`${size(rate)}/s`], total ? [clock(Math.floor((total - done) / rate))] : []];
  }

  /** The first of the texts that fits the terminal, with a bar before it if the fraction is known; `^C` has room behind it. */
  #line(texts, fraction) {
    const columns = (this.#stream.columns || 80) - 3;
    for (const text of texts.map((words) => words.join("  "))) {
      const room = Math.min(30, columns - text.length - 3);
      if (fraction === undefined && text.length <= columns) return text;
      if (fraction === undefined || room < 5) continue;
      const filled = Math.floor(fraction * room);
      const bar = `[${"#".repeat(filled)}${".".repeat(room - filled)}]`;
      return `${this.#isColoured ? `\x1b[32m${bar}\x1b[0m` : bar} ${text}`;
    }
    return texts.at(-1).join("  ");
  }
}

function counted({ completed, unchanged, total, deleted, toDelete, refused, failed }) {
  const parts = total ? [`${completed + unchanged} of ${total} files`] : [];
  if (toDelete) parts.push(`${deleted} of ${toDelete} deleted`);
  if (refused) parts.push(`${refused} refused`);
  if (failed) parts.push(`${failed} failed`);
  return parts.join(", ") || "no files";
}

function size(count) {
  if (count < 1000) return Math.floor(count) === 1 ? "1 byte" : `${Math.round(count)} bytes`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  for (count /= 1024; count >= 1000 && units.length > 1; count /= 1024) units.shift();
  return `${count.toFixed(1)} ${units[0]}`;
}

/** Seconds as `2:03`, or `1:02:03`. */
function clock(seconds) {
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

module.exports = { ProgressBar };
