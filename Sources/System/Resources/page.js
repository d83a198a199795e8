"use strict";
const trace = JSON.parse(document.getElementById("trace").textContent);
const element = (id) => document.getElementById(id);
const { entries, tasks, channels } = trace;
const length = Math.max(trace.length, 1000);

// What is shown: times in microseconds since the start.

const view = { from: 0, to: length };
let isWhole = true; // the view, which then follows the width of the window
let chosen = null, chosenTask = null, shapes = [], query = "", method = "", onlyProblems = false;

const isAsking = (entry) => entry.kind === "request" || entry.kind === "question";
const isUnanswered = (entry) => isAsking(entry) && entry.partner === null;
const answerOf = (entry) => isAsking(entry) && entry.partner !== null ? entries[entry.partner] : null;
const errorOf = (entry) => entry.error ?? answerOf(entry)?.error ?? null;
const isProblem = (entry) =>
  errorOf(entry) !== null || isUnanswered(entry) || entry.kind === "broken" || entry.kind === "dropped"
  || entry.message?.params?.snapshot?.status === "failure"
  || (entry.kind === "task" && (entry.message.error ?? entry.message.retry) !== undefined);

for (const [index, entry] of entries.entries()) {
  entry.index = index;
  entry.text = `${entry.kind} ${entry.id} ${entry.title} ${entry.detail} ${JSON.stringify(entry.message)}`.toLowerCase();
}
const matches = (entry) =>
  (!onlyProblems || isProblem(entry)) && (method === "" || entry.title === method)
  && (query === "" || entry.text.includes(query) || (answerOf(entry)?.text.includes(query) ?? false));
const matchesTask = (task) =>
  (!onlyProblems || task.error !== null) && (query === "" || JSON.stringify(task).toLowerCase().includes(query));

function duration(microseconds) {
  if (microseconds < 10000) return (microseconds / 1000).toFixed(2) + " ms";
  if (microseconds < 1e6) return Math.round(microseconds / 1000) + " ms";
  return (microseconds / 1e6).toFixed(2) + " s";
}
const clock = (microseconds) => (microseconds / 1e6).toFixed(3);
function size(bytes) {
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (bytes < 1000) return (unit === "B" ? bytes : bytes.toFixed(1)) + " " + unit;
    bytes /= 1024;
  }
  return bytes.toFixed(1) + " TiB";
}
function took(entry) {
  const answer = answerOf(entry);
  if (answer) return duration(answer.at - entry.at);
  return (entry.kind === "answer" || entry.kind === "reply") && entry.partner !== null
    ? duration(entry.at - entries[entry.partner].at) : "";
}
function look(entry) {
  if (entry.kind === "broken" || entry.kind === "dropped" || errorOf(entry) !== null) return "bad";
  if (isUnanswered(entry)) return "open";
  if (entry.message?.params?.snapshot?.status === "failure") return "bad";
  return { question: "asked", reply: "asked", event: "event", task: "event", request: "good", answer: "good", notification: "good" }[entry.kind] ?? "mark";
}
const arrow = {
  request: "→", notification: "→", answer: "←", event: "⇠", task: "•", question: "?", reply: "!", run: "══", began: "┌", ended: "└",
  broken: "!!", dropped: "!!",
};
function what(entry) {
  const words = { run: "service started", began: "connected", ended: "disconnected", broken: "no message", dropped: "messages missing" };
  return [arrow[entry.kind], entry.id, entry.title || words[entry.kind] || ""].filter((word) => word !== "").join(" ");
}

// Lanes: for each connection its requests, as many rows as overlap, then its events; then the transfers.

const rowHeight = 20, gap = 6, axis = 26, most = 12;
let margin = 150;
const owned = channels.map(() => []);
for (const entry of entries) owned[entry.channel].push(entry);
function lay() {
  const lanes = [];
  channels.forEach((channel, index) => {
    const own = owned[index];
    if ((query !== "" || method !== "") && !own.some(matches)) return;
    const asking = own.filter((entry) => isAsking(entry) || entry.kind === "notification");
    const marks = own.filter((entry) => ["event", "broken", "dropped"].includes(entry.kind)
      || ((entry.kind === "answer" || entry.kind === "reply") && entry.partner === null));
    if (asking.length === 0 && marks.length === 0) return;
    const ends = [];
    for (const entry of asking) {
      const end = answerOf(entry)?.at ?? (isUnanswered(entry) ? channel.ended ?? length : entry.at);
      let row = ends.findIndex((before) => before <= entry.at);
      if (row < 0) row = ends.length < most ? ends.length : most - 1;
      // Short ones stand apart, or none of them could be read; those without an answer give way to the next.
      ends[row] = Math.max(isUnanswered(entry) ? entry.at : end, entry.at + length / 400);
      Object.assign(entry, { row, end });
    }
    lanes.push({ name: channel.client ? `#${channel.number} ${channel.client}` : channel.name, kind: "requests", items: asking, rows: Math.max(ends.length, 1), channel });
    if (marks.length > 0) lanes.push({ name: "events", kind: "marks", items: marks, rows: 1, channel });
  });
  for (const task of tasks.filter(matchesTask)) {
    lanes.push({ name: task.reference.replace(/^gs:\/\/[^/]*\//, ""), kind: "task", task, rows: 1 });
  }
  let y = axis;
  for (const lane of lanes) {
    lane.y = y;
    y += lane.rows * rowHeight + gap;
  }
  return { lanes, height: y };
}
let layout = lay();

// Drawing.

const canvas = element("lanes"), stage = element("stage"), pen = canvas.getContext("2d");
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
let width = 0, colours = {};
const x = (time) => margin + (time - view.from) / (view.to - view.from) * (width - margin);
const time = (x) => view.from + (x - margin) / (width - margin) * (view.to - view.from);

// All of the trace, with room for what is written behind the last bars.
function whole() {
  const room = Math.min(140, (width - margin) * 0.45);
  return [-length * 0.01, length * 1.01 / (1 - room / (width - margin)) - length * 0.01];
}

// The canvas is as high as what can be seen of the lanes; they scroll beneath it.
function draw() {
  element("space").style.height = layout.height + "px";
  width = canvas.clientWidth;
  margin = Math.min(Math.max(Math.round(width * 0.2), 110), 240);
  const high = Math.min(layout.height, stage.clientHeight), scale = window.devicePixelRatio || 1, up = stage.scrollTop;
  canvas.style.height = high + "px";
  canvas.width = width * scale;
  canvas.height = high * scale;
  pen.setTransform(scale, 0, 0, scale, 0, -up * scale);
  for (const name of ["paper", "ink", "faint", "rule", "panel", "good", "bad", "open", "asked", "event", "asked-for", "queued", "running", "paused", "waiting", "chosen"]) {
    colours[name] = colour(name);
  }
  pen.font = "12px system-ui, sans-serif";
  if (isWhole) [view.from, view.to] = whole();
  pen.textBaseline = "middle";
  shapes = [];
  drawAxis(up);
  const seen = layout.lanes.filter((lane) => lane.y + lane.rows * rowHeight > up + axis && lane.y < up + high);
  pen.save();
  pen.beginPath();
  pen.rect(margin, up + axis - 4, width - margin, high);
  pen.clip();
  for (const lane of seen) ({ requests: drawRequests, marks: drawMarks, task: drawTask })[lane.kind](lane);
  pen.restore();
  pen.save();
  pen.beginPath();
  pen.rect(0, up + axis - 4, width, high);
  pen.clip();
  for (const lane of seen) drawName(lane);
  pen.restore();
}

function drawAxis(up) {
  const rough = (view.to - view.from) / Math.max((width - margin) / 80, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max([1, 2, 5, 10].find((factor) => factor * power >= rough) * power, 1);
  pen.fillStyle = colours.faint;
  pen.strokeStyle = colours.rule;
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
    const place = Math.round(x(at)) + 0.5;
    if (place < margin) continue;
    pen.beginPath();
    pen.moveTo(place, up + axis - 8);
    pen.lineTo(place, layout.height);
    pen.stroke();
    const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(step / 1e6))));
    const text = (at / 1e6).toFixed(digits) + " s";
    if (place + 3 + pen.measureText(text).width <= width) pen.fillText(text, place + 3, up + 10);
  }
}

function drawName(lane) {
  pen.fillStyle = lane.kind === "marks" ? colours.faint : colours.ink;
  const mark = lane.kind === "task" ? (lane.task.kind === "download" ? "↓ " : "↑ ") : "";
  if (lane.task && lane.task === chosenTask) {
    pen.fillStyle = colours.chosen;
    pen.fillRect(0, lane.y - 2, margin, rowHeight);
    pen.fillStyle = colours.ink;
  }
  pen.fillText(mark + elided(lane.name, margin - 14 - pen.measureText(mark).width), 8, lane.y + rowHeight / 2);
  pen.strokeStyle = colours.rule;
  pen.beginPath();
  pen.moveTo(0, lane.y + lane.rows * rowHeight + gap / 2 + 0.5);
  pen.lineTo(width, lane.y + lane.rows * rowHeight + gap / 2 + 0.5);
  pen.stroke();
}

function shape(left, top, wide, high, entry, tip, task) { shapes.push({ left, top, wide, high, entry, tip, task }); }

// The beginning and the end of a text, where there is no room for all of it: names often differ at their ends.
function elided(text, room) {
  if (pen.measureText(text).width <= room) return text;
  let kept = Math.min(text.length - 1, 120);
  while (kept > 1 && pen.measureText(cut(text, kept)).width > room) kept -= 1;
  return cut(text, kept);
}
function cut(text, kept) {
  const head = Math.floor(kept * 0.3);
  return text.slice(0, head) + "…" + text.slice(text.length - kept + head);
}

// A method's name, or the end of it, where there is room.
function fitting(title, room) {
  return [title, title.split("/").pop()].find((text) => pen.measureText(text).width + 8 <= room) ?? "";
}
// Never a part of a text: it could be read as another one.
function label(text, left, top, wide, tint) {
  if (text === "" || pen.measureText(text).width + 6 > wide) return;
  pen.fillStyle = tint;
  pen.fillText(text, left + 4, top + (rowHeight - 2) / 2);
}

function drawRequests(lane) {
  const left = x(lane.channel.began), right = lane.channel.ended === null ? width : x(lane.channel.ended);
  pen.fillStyle = colours.panel;
  pen.fillRect(left, lane.y - 1, right - left, lane.rows * rowHeight + 1);
  // What stands next in a row ends the room for a name beside a bar.
  const next = new Array(lane.rows).fill(Infinity);
  for (let i = lane.items.length - 1; i >= 0; i--) {
    const entry = lane.items[i];
    const start = x(entry.at), limit = next[entry.row], top = lane.y + entry.row * rowHeight;
    const end = isUnanswered(entry) ? Math.min(x(entry.end), limit - 3) : x(entry.end);
    const wide = Math.max(end - start, 3);
    next[entry.row] = start;
    if (start > width || start + Math.max(wide, 200) < margin) continue;
    pen.globalAlpha = matches(entry) ? 1 : 0.12;
    const tint = colours[look(entry)] ?? colours.good;
    if (isUnanswered(entry)) {
      pen.strokeStyle = tint;
      pen.setLineDash([4, 3]);
      pen.strokeRect(start + 0.5, top + 0.5, wide, rowHeight - 4);
      pen.setLineDash([]);
      const inside = start + wide - Math.max(start, margin);
      label(fitting(entry.title + " (no answer)", inside), Math.max(start, margin), top, inside, tint);
    } else {
      pen.fillStyle = tint;
      pen.fillRect(start, top, wide, rowHeight - 3);
      const inside = start + wide - Math.max(start, margin), beside = Math.min(limit, width) - start - wide - 2;
      const inner = fitting(entry.title, inside);
      if (inner) label(inner, Math.max(start, margin), top, inside, colours.paper);
      else label(fitting(entry.title, beside), start + wide, top, beside, tint);
    }
    if (entry === chosen || (chosen && chosen.partner !== null && entries[chosen.partner] === entry)) {
      pen.strokeStyle = colours.ink;
      pen.lineWidth = 2;
      pen.strokeRect(start - 1, top - 1, wide + 2, rowHeight - 1);
      pen.lineWidth = 1;
    }
    pen.globalAlpha = 1;
    shape(start, top, wide, rowHeight - 2, entry);
  }
}

function drawMarks(lane) {
  for (const entry of lane.items) {
    const place = x(entry.at);
    if (place < margin || place > width) continue;
    const isEnd = ["success", "failure"].includes(entry.message?.params?.snapshot?.status);
    pen.globalAlpha = matches(entry) ? 1 : 0.12;
    pen.fillStyle = entry === chosen ? colours.ink : isEnd && look(entry) !== "bad" ? colours.good : colours[look(entry)] ?? colours.event;
    const isSmall = entry.message?.params?.snapshot?.status === "progress";
    pen.fillRect(place - 1, lane.y + (isSmall ? 6 : 0), entry === chosen ? 3 : 2, rowHeight - (isSmall ? 9 : 3));
    pen.globalAlpha = 1;
    shape(place - 2, lane.y, 5, rowHeight, entry);
  }
}

function sampleLine([at, state, completed, total, note]) {
  return `${clock(at)} s  ${state}  ${size(completed)} of ${size(total)}${note ? "  " + note : ""}`;
}

function drawTask(lane) {
  const { task } = lane, { samples } = task, top = lane.y, high = rowHeight - 3;
  if (samples.length === 0) return;
  const last = samples[samples.length - 1], end = task.isEnded ? last[0] : length;
  const tip = (at) => [
    `${task.kind} ${task.task}`, task.reference, task.verdict,
    samples.map((sample) => sample[1]).filter((state, i, all) => state !== all[i - 1]).join(" → "),
    `${size(last[2])} of ${size(last[3])} in ${duration(last[0] - samples[0][0])}`, task.error,
    sampleLine(samples.findLast((sample) => sample[0] <= at) ?? samples[0]),
  ].filter(Boolean).join("\n");
  samples.forEach(([at, state, completed, total], i) => {
    const until = i + 1 < samples.length ? samples[i + 1][0] : end;
    const left = x(at), wide = Math.max(x(until) - left, 0.5);
    if (left > width || left + wide < margin || colours[state.replace(" ", "-")] === undefined) return;
    pen.fillStyle = colours[state.replace(" ", "-")];
    pen.globalAlpha = state === "running" ? 0.3 : 1;
    pen.fillRect(left, top, wide, high);
    pen.globalAlpha = 1;
    if (state === "running" && total > 0) {
      const share = Math.min(completed / total, 1) * high;
      pen.fillRect(left, top + high - share, wide, share);
    }
  });
  const right = x(end), left = x(samples[0][0]);
  if (task.isEnded) {
    pen.fillStyle = last[1] === "success" ? colours.good : colours.bad;
    pen.fillRect(right, top - 1, 3, high + 2);
    const text = `${last[1]}, ${size(last[2])}`, wide = pen.measureText(text).width + 8;
    if (right + 4 + wide <= width) label(text, right + 4, top, wide, pen.fillStyle);
    else if (left - wide >= margin) label(text, left - wide, top, wide, pen.fillStyle);
  }
  pen.globalAlpha = 1;
  shape(left, top, Math.max(right - left, 4) + 4, high, null, tip, task);
}

// Pointing, zooming, panning.

const tip = element("tip");
function hit(event) {
  const box = canvas.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top + stage.scrollTop;
  let best = null, nearest = 5;
  if (px < margin) return null;
  for (const shape of shapes) {
    if (py < shape.top || py > shape.top + shape.high) continue;
    const away = Math.max(shape.left - px, px - shape.left - shape.wide, 0);
    if (away < nearest) [best, nearest] = [shape, away];
  }
  return best;
}
function describe(entry) {
  const answer = answerOf(entry);
  return `${clock(entry.at)} s  ${what(entry)}${entry.detail ? "\n" + entry.detail : ""}`
    + (answer ? `\n← ${duration(answer.at - entry.at)}  ${answer.error ?? (answer.detail || "done")}` : "")
    + (isUnanswered(entry) ? "\nno answer" : "");
}
let drag = null;
canvas.addEventListener("pointermove", (event) => {
  if (drag) {
    const shift = (drag.x - event.clientX) / (width - margin) * (drag.to - drag.from);
    return show(drag.from + shift, drag.to + shift);
  }
  const found = hit(event);
  tip.hidden = found === null;
  if (found === null) return;
  tip.textContent = found.tip?.(time(event.clientX - canvas.getBoundingClientRect().left)) ?? describe(found.entry);
  tip.style.left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8) + "px";
});
canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
canvas.addEventListener("pointerdown", (event) => {
  drag = { x: event.clientX, from: view.from, to: view.to };
  canvas.setPointerCapture(event.pointerId);
  tip.hidden = true;
});
canvas.addEventListener("pointercancel", () => { drag = null; });
canvas.addEventListener("pointerup", (event) => {
  if (drag && Math.abs(drag.x - event.clientX) < 4) {
    const found = hit(event);
    if (found?.entry) choose(found.entry);
    else if (found?.task) chooseTask(found.task);
  }
  drag = null;
});
canvas.addEventListener("wheel", (event) => {
  const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
  // Lanes that do not fit scroll like any page.
  if (!isSideways && !event.ctrlKey && layout.height > stage.clientHeight + 1) return;
  event.preventDefault();
  if (isSideways) return pan((event.deltaX || event.deltaY) / (width - margin));
  zoom(Math.exp(event.deltaY / 400), time(event.clientX - canvas.getBoundingClientRect().left));
}, { passive: false });

let isNoted = false;
function redraw() {
  if (isNoted) return;
  isNoted = true;
  requestAnimationFrame(() => { isNoted = false; draw(); });
}
function show(from, to) {
  const span = Math.min(Math.max(to - from, 20), length * 2);
  const middle = Math.min(Math.max((from + to) / 2, 0), length);
  [view.from, view.to] = [middle - span / 2, middle + span / 2];
  isWhole = false;
  address();
  redraw();
}
function zoom(factor, around = (view.from + view.to) / 2) {
  show(around - (around - view.from) * factor, around + (view.to - around) * factor);
}
function pan(share) { const shift = (view.to - view.from) * share; show(view.from + shift, view.to + shift); }
function all() { isWhole = true; address(); redraw(); }
const actions = { in: () => zoom(0.5), out: () => zoom(2), left: () => pan(-0.25), right: () => pan(0.25), all };
for (const [id, action] of Object.entries(actions)) element(id).addEventListener("click", action);
canvas.addEventListener("keydown", (event) => {
  const action = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", "0": "all" }[event.key];
  if (action && !event.ctrlKey && !event.metaKey) { event.preventDefault(); actions[action](); }
});

// The table has elements for the rows that can be seen, and for a few more.

const lineHeight = 21, extra = 20, scroll = element("scroll");
let found = [];
function cell(row, text) { row.insertCell().textContent = text; }
// The content, with the middle of a long reference left out: its end tells it from others.
function content(entry, room) {
  const text = (isUnanswered(entry) ? "no answer  " : "") + entry.detail;
  if (text.length <= room) return text;
  return text.replace(/gs:\/\/\S+/, (url) => {
    const kept = Math.max(11, (room < 30 ? room : room - 8) - 1);
    return url.length > kept ? cut(url, kept) : url;
  });
}
function spacer(lines) {
  const row = element("rows").insertRow();
  row.className = "spacer";
  row.style.height = lines * lineHeight + "px";
  row.setAttribute("aria-hidden", "true");
}
function list() {
  found = entries.filter(matches);
  found.forEach((entry, index) => { entry.place = index; });
  const isAll = found.length === entries.length;
  element("count").textContent = isAll ? `${found.length}` : `${found.length} of ${entries.length} match`;
  scroll.scrollTop = 0;
  fill();
}
function fill() {
  const first = Math.max(0, Math.floor(scroll.scrollTop / lineHeight) - extra);
  const end = Math.min(found.length, first + Math.ceil(scroll.clientHeight / lineHeight) + 2 * extra);
  element("rows").textContent = "";
  spacer(first);
  const room = Math.floor(document.querySelector("th:last-child").clientWidth / 7.3);
  for (const entry of found.slice(first, end)) {
    const row = element("rows").insertRow();
    row.className = look(entry) + (entry === chosen ? " chosen" : "");
    row.dataset.row = entry.index;
    if (entry === chosen) row.setAttribute("aria-current", "true");
    cell(row, clock(entry.at));
    cell(row, entry.kind === "answer" || entry.kind === "reply" ? took(entry) : "");
    cell(row, channels[entry.channel].number ? "#" + channels[entry.channel].number : "");
    cell(row, what(entry));
    cell(row, content(entry, room));
    row.lastChild.title = entry.detail;
    row.addEventListener("click", () => choose(entry));
  }
  spacer(found.length - end);
}
scroll.addEventListener("scroll", () => requestAnimationFrame(fill));

function tell(title, text) {
  element("chosen").textContent = title;
  element("message").textContent = text;
  element("message").scrollTop = 0;
  element("copy").disabled = chosen === null && chosenTask === null;
  noteAddress();
}
// The link has what is chosen, and the part of the time that is shown: #row-7@1200000-3400000, in microseconds.
let due = 0;
function address() {
  clearTimeout(due);
  due = setTimeout(noteAddress, 100); // a browser takes but so many a second
}
function noteAddress() {
  clearTimeout(due);
  const what = chosen ? "row-" + chosen.index : chosenTask ? "task-" + encodeURIComponent(chosenTask.task) : "";
  const hash = what + (isWhole ? "" : `@${Math.round(view.from)}-${Math.round(view.to)}`);
  history.replaceState(null, "", hash === "" ? location.pathname + location.search : "#" + hash);
}
// What took the time of a request, as far as the conversation tells.
function waits(request) {
  const end = answerOf(request)?.at ?? length, own = owned[request.channel], lines = [];
  for (const one of own) {
    if (one.kind !== "question" || one.at > end || (answerOf(one)?.at ?? length) < request.at) continue;
    lines.push(`${one.title}, which the client ${answerOf(one) ? "answered after " + took(one) : "did not answer"}`);
  }
  const params = request.message?.params, result = answerOf(request)?.message?.result;
  const id = params?.task ?? result?.task ?? result?.snapshot?.task;
  const task = (params?.wait || request.title.endsWith("/wait")) && tasks.find((one) => one.task === id);
  for (const [i, sample] of (task ? task.samples : []).entries()) {
    const [from, to] = [Math.max(sample[0], request.at), Math.min(task.samples[i + 1]?.[0] ?? end, end)];
    if (to <= from || sample[1] === "success") continue;
    const text = `the transfer, ${sample[1]}${sample[4] ? ": " + sample[4] : ""}`, last = lines.at(-1);
    if (last?.text === text) last.time += to - from;
    else lines.push({ text, time: to - from });
  }
  const earlier = own.filter((one) => one !== request && isAsking(one) && one.kind === request.kind
    && one.at <= request.at && (answerOf(one)?.at ?? length) > request.at);
  if (earlier.length > 0) lines.push(count(earlier.length, "earlier request") + " under way");
  if (lines.length === 0) return "";
  return ["// meanwhile:", ...lines.map((line) => line.text ? `${line.text}  ${duration(line.time)}` : line)].join("\n//   ");
}
function choose(entry) {
  [chosen, chosenTask] = [entry, null];
  if (found[entry.place] === entry) {
    const top = entry.place * lineHeight, room = scroll.clientHeight - 2 * lineHeight;
    if (top < scroll.scrollTop || top > scroll.scrollTop + room) scroll.scrollTop = top - room / 2;
  }
  fill();
  const partner = entry.partner === null ? null : entries[entry.partner];
  const pretty = (one) => `// ${clock(one.at)} s  ${what(one)}  ${one.bytes ? size(one.bytes) : ""}\n${JSON.stringify(one.message, null, 2)}`;
  const both = [entry, partner].filter(Boolean).sort((a, b) => a.at - b.at);
  const request = [entry, partner].find((one) => one?.kind === "request");
  tell(entry.title || "Message", [request && waits(request), ...both.map(pretty)].filter(Boolean).join("\n\n"));
  if (entry.at < view.from || entry.at > view.to) {
    const half = (view.to - view.from) / 2;
    show(entry.at - half, entry.at + half);
  }
  redraw();
}
function chooseTask(task) {
  [chosen, chosenTask] = [null, task];
  fill();
  const lines = task.samples.map(sampleLine);
  const first = task.samples[0], last = task.samples[task.samples.length - 1];
  const head = [task.reference, task.task, task.verdict, first ? `${last[1]} after ${duration(last[0] - first[0])}` : "", task.error ?? ""];
  tell(task.kind[0].toUpperCase() + task.kind.slice(1), [...head.filter(Boolean), "", ...lines].join("\n"));
  redraw();
}
function chooseNothing() {
  [chosen, chosenTask] = [null, null];
  fill();
  tell("Message", "");
  redraw();
}
function step(lines) {
  if (found.length === 0) return;
  const now = chosen !== null && found[chosen.place] === chosen ? chosen.place : lines > 0 ? -1 : found.length;
  choose(found[Math.min(Math.max(now + lines, 0), found.length - 1)]);
}
async function copy(text, button) {
  const field = document.createElement("textarea");
  try { await navigator.clipboard.writeText(text); } catch {
    // A page that was opened as a file may have no clipboard.
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  const name = button.textContent;
  button.textContent = "copied";
  setTimeout(() => { button.textContent = name; }, 1200);
}
element("copy").addEventListener("click", (event) => {
  const shown = chosenTask ?? [chosen, chosen.partner === null ? null : entries[chosen.partner]].filter(Boolean).map((one) => one.message);
  copy(JSON.stringify(shown, null, 2), event.target);
});
element("link").addEventListener("click", (event) => { noteAddress(); copy(location.href, event.target); });
function follow() {
  const [, what, from, to] = /^#?([^@]*)(?:@(-?\d+)-(\d+))?$/.exec(location.hash) ?? [];
  if (Number(to) > Number(from)) show(Number(from), Number(to));
  const row = /^row-(\d+)$/.exec(what), task = /^task-(.+)$/.exec(what);
  if (row && entries[row[1]]) choose(entries[row[1]]);
  const named = task && tasks.find((one) => one.task === decodeURIComponent(task[1]));
  if (named) chooseTask(named);
}
window.addEventListener("hashchange", follow);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = ["INPUT", "SELECT"].includes(event.target.tagName);
  if (event.key === "Escape") {
    if (isTyping || query !== "" || method !== "") {
      [element("filter").value, element("method").value] = ["", ""];
      refilter();
      scroll.focus();
    } else chooseNothing();
    return;
  }
  if (isTyping && event.target.id !== "filter") return;
  if (event.key === "Enter" && (event.target === scroll || isTyping)) {
    event.preventDefault();
    if (chosen === null) step(1);
    element("message").focus();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    if (event.target === element("message")) return;
    event.preventDefault();
    step(event.key === "ArrowDown" ? 1 : -1);
  } else if (event.target === scroll && (event.key === "Home" || event.key === "End")) {
    event.preventDefault();
    step(event.key === "End" ? found.length : -found.length);
  } else if (event.key === "/" && !isTyping) {
    event.preventDefault();
    element("filter").focus();
  }
});

let waiting = 0;
function refilter() {
  query = element("filter").value.trim().toLowerCase();
  method = element("method").value;
  onlyProblems = element("problems").checked;
  layout = lay();
  list();
  redraw();
}
element("filter").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(refilter, 120); });
element("problems").addEventListener("change", refilter);
element("method").addEventListener("change", refilter);
for (const title of [...new Set(entries.map((entry) => entry.title))].filter(Boolean).sort()) {
  element("method").append(new Option(title, title));
}
element("tools").addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("resize", () => { fill(); redraw(); });
stage.addEventListener("scroll", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

function count(number, word) { return `${number} ${word}${number === 1 ? "" : "s"}`; }
element("summary").textContent = [
  `${trace.started}, ${duration(trace.length)}`, count(channels.filter((channel) => channel.number !== 0).length, "connection"),
  count(entries.filter(isAsking).length, "request"), count(entries.filter((entry) => isAsking(entry) && errorOf(entry) !== null).length, "error"),
  `${entries.filter(isUnanswered).length} without an answer`, count(entries.filter((entry) => entry.kind === "event").length, "event"),
  count(tasks.length, "transfer"),
].join(" · ");
element("unreadable").textContent = trace.problems.join("\n") + (trace.omittedProblems ? `\nand ${trace.omittedProblems} more lines` : "");
// What took the time of the slowest transfers.
const slow = tasks.filter((task) => task.verdict !== null);
const lasted = ({ samples }) => samples[samples.length - 1][0] - samples[0][0];
slow.sort((a, b) => lasted(b) - lasted(a)).slice(0, 5).forEach((task) => {
  const button = document.createElement("button");
  button.textContent = task.verdict;
  button.addEventListener("click", () => chooseTask(task));
  element("verdicts").append(document.createElement("li"));
  element("verdicts").lastChild.append(button);
});
if (slow.length > 5) {
  element("verdicts").append(document.createElement("li"));
  element("verdicts").lastChild.textContent = `and ${slow.length - 5} more`;
}
list();
draw();
follow();
