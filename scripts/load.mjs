// `npm run load [seconds] [model folder]`: 200 clients ask a `kit serve` at once, and every second answer is
// broken off. Prints memory, lost places and how long clients waited, and fails if memory grows or a place is lost.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { CLI, ROOT, setUp } from "./setup.mjs";

const [seconds = "300", folder] = process.argv.slice(2);
const CLIENTS = 200;
/** Requests that a model answers at once: see `cli/infer/answerLines.ts`. */
const PLACES = 32;
const TOKENS = 64;
const REPORT_MS = 10_000;
/** Of the resident memory from a fifth of the time to its end, in MiB. */
const MOST_GROWTH_MIB = 40;
/** A model that takes a step in about a millisecond. */
const SHAPE = { layers: 2, heads: 2, width: 64, context: 512 };

await setUp();
const project = mkdtempSync(join(tmpdir(), "kit-load-"));
const model = folder ? resolve(folder) : await makeModel(join(project, "model"));
const { child, port, lines } = await startServe();
const counts = { asked: 0, whole: 0, brokenOff: 0, refused: 0, failed: 0 };
/** In ms. */
const waits = { first: [], between: [] };
const memory = [];
const end = performance.now() + Number(seconds) * 1000;

const reporting = setInterval(report, REPORT_MS);
await Promise.all(Array.from({ length: CLIENTS }, client));
clearInterval(reporting);
report();
// The server soon hears that the last ones have left.
await delay(1_000);
const lost = PLACES - (await freePlaces());
child.kill("SIGTERM");
await new Promise((done) => child.once("close", done));
rmSync(project, { recursive: true });

const settled = memory[Math.floor(memory.length / 5)];
const growth = memory.at(-1).rss - settled.rss;
console.log(
  [
    `${counts.asked} requests: ${counts.whole} whole, ${counts.brokenOff} broken off, ${counts.refused} refused (429), ${counts.failed} failed; ${lines.length} lines in the log`,
    `first token: median ${ms(waits.first, 0.5)}, p99 ${ms(waits.first, 0.99)}; between two: median ${ms(waits.between, 0.5)}, p99 ${ms(waits.between, 0.99)}`,
    `memory: ${settled.rss} MiB after a fifth of the time, ${memory.at(-1).rss} MiB at its end; descriptors ${settled.files}, then ${memory.at(-1).files}`,
    `lost places: ${lost} of ${PLACES}`,
  ].join("\n"),
);
process.exitCode = lost === 0 && counts.failed === 0 && growth < MOST_GROWTH_MIB ? 0 : 1;

async function makeModel(path) {
  const load = (name) => import(join(ROOT, "dist", "engines", `${name}.js`));
  const { saveModel } = await load("checkpoint/checkpoint");
  const { randomWeights } = await load("families/randomWeights");
  const { dimensionsOf } = await load("families/dimensions");
  const shape = dimensionsOf(SHAPE);
  saveModel(path, randomWeights(shape, 1), { shape, promptStyle: "message" });
  return path;
}

async function startServe() {
  const args = [CLI, "serve", "--port", "0", "--json", "--project", project, model];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const lines = [];
  let port;
  await new Promise((ready, fail) => {
    child.once("close", () => fail(new Error("kit serve has ended, see above.")));
    createInterface({ input: child.stdout }).on("line", (line) => {
      const { event, url } = JSON.parse(line);
      if (event === "listening") port ??= Number(new URL(url).port);
      if (event === "request") lines.push(line.length);
      if (event === "ready") ready();
    });
  });
  return { child, port, lines };
}

async function client() {
  for (let n = 0; performance.now() < end; n++) {
    counts.asked++;
    const leavesAfterMs = Math.random() < 0.5 ? Math.random() * 2_000 : undefined;
    const { outcome } = await ask({ max_tokens: TOKENS, seed: counts.asked }, leavesAfterMs);
    counts[outcome]++;
    if (outcome === "refused") await delay(1_000);
  }
}

function bodyOf(content) {
  return { model: basename(model), messages: [{ role: "user", content }], stream: true };
}

/** A question whose likeliest answer is long. */
async function longQuestion() {
  for (let n = 0; ; n++) {
    const body = { ...bodyOf(`Number ${n}`), stream: false, max_tokens: 4 * TOKENS };
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const { usage } = await response.json();
    if (usage.completion_tokens === 4 * TOKENS) return { ...body, stream: true };
  }
}

/** Asks for a stream; resolves when it has ended in some way. */
function ask(more, leavesAfterMs, onFirst = () => {}) {
  return new Promise((done) => {
    const came = performance.now();
    let last;
    let text = "";
    const asked = request({
      ...{ host: "127.0.0.1", port, path: "/v1/chat/completions", method: "POST" },
      headers: { "Content-Type": "application/json" },
    });
    const timer =
      leavesAfterMs === undefined ? undefined : setTimeout(() => leave("brokenOff"), leavesAfterMs);
    function leave(outcome) {
      clearTimeout(timer);
      asked.destroy();
      done({ outcome });
    }
    asked.on("error", () => leave("failed"));
    asked.on("response", (answer) => {
      if (answer.statusCode === 429) return leave("refused");
      answer.setEncoding("utf8");
      answer.on("data", (part) => {
        const now = performance.now();
        if (last === undefined) {
          waits.first.push(now - came);
          onFirst();
        } else waits.between.push(now - last);
        last = now;
        text = (text + part).slice(-20);
      });
      answer.on("close", () => leave(text.endsWith("data: [DONE]\n\n") ? "whole" : "failed"));
    });
    asked.end(JSON.stringify({ ...bodyOf(`Number ${Math.random()}`), temperature: 1, ...more }));
  });
}

/** Long streams that have begun before any of them has ended. */
async function freePlaces() {
  const question = { ...(await longQuestion()), temperature: 0 };
  let begun = 0;
  let isOver = false;
  const all = Array.from({ length: PLACES }, () =>
    ask(question, undefined, () => {
      if (!isOver) begun++;
    }).then(() => (isOver = true)),
  );
  await Promise.all(all);
  return begun;
}

function report() {
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
  const rss = Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
  const files = readdirSync(`/proc/${child.pid}/fd`).length;
  memory.push({ rss, files });
  const left = Math.max(0, Math.round((end - performance.now()) / 1000));
  console.log(
    `${left} s left: ${rss} MiB, ${files} descriptors, ${counts.asked} requests, ${counts.whole} whole, ${counts.failed} failed`,
  );
}

function ms(samples, share) {
  const sorted = Float64Array.from(samples).sort();
  return `${Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0)} ms`;
}
