import { type ChildProcess, spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createPrompts } from "../answers.ts";
import { type Goal, atMost, moreAtMost, ratioAtLeast, ratioAtMost } from "../goals.ts";
import { peakMemory, processMs } from "../machine.ts";
import { openModelOf } from "../openModel.ts";
import { CLI, program } from "../paths.ts";
import type { Measured, Row } from "../row.ts";
import { type Scope, inScope } from "../scope.ts";
import { MODEL, askServe } from "../serveClient.ts";
import { started } from "../server.ts";
import { alternate, runAlternately, median, percentile, time } from "../statistics.ts";
import { type StreamSizes, type StreamTimes, timeChunks } from "../streams.ts";
import { startWorker } from "../worker.ts";

const NUMBER = 29;
const PROMPT = { full: 30, quick: 30, tiny: 30 };
const ANSWER = { full: 64, quick: 24, tiny: 8 };
const TURNS = { full: 15, quick: 5, tiny: 1 };
const CLIENTS = { full: 16, quick: 16, tiny: 3 };
const LIMIT_MS = 60_000;

export const SERVE_ROWS: Row[] = [
  {
    number: NUMBER,
    work: "`kit serve`, one client of 135M parameters",
    baseline: "`loadModel`'s `stream`",
    async measure(scope) {
      const { sizes, own, server } = await startBoth(scope, {});
      const found = await runAlternately(
        { ours: server.ask, baseline: own.ask },
        scope.pick(TURNS),
      );
      const both = (of: (times: StreamTimes[]) => number) => ({
        ours: of(found.ours),
        baseline: of(found.baseline),
      });
      const first = both((all) => median(all.map(({ first }) => first)));
      const speed = both((all) => 1000 / mean(all.flatMap(({ gaps }) => gaps)));
      return [
        ...[
          {
            part: `a prompt of ${sizes.prompt}, to the first token`,
            ...first,
            unit: "ms",
          } as const,
          { part: "tokens after the first", ...speed, unit: "tokens/s" } as const,
        ].map((line, i) => ({ ...line, goal: [ratioAtMost(1.15), ratioAtLeast(0.95)][i] as Goal })),
        {
          part: "memory",
          ours: server.peak(),
          baseline: own.peak(),
          unit: "MB",
          goal: moreAtMost(60),
        },
        await atRest(scope, server.child),
      ];
    },
  },
  ...([undefined, "q8_0"] as const).map(manyClients),
  {
    number: NUMBER,
    work: "a token of an answer constrained by a schema, vocabulary of 49,152",
    baseline: "of an unconstrained answer",
    async measure(scope) {
      const model = servedModel(scope);
      const sizes = { model, prompt: scope.pick(PROMPT), answer: scope.pick(ANSWER) };
      const gap = (isConstrained: boolean) => {
        const { ask } = startStreams(scope, { ...sizes, isConstrained });
        return async () => mean((await ask()).gaps);
      };
      const values = await alternate({ ours: gap(true), baseline: gap(false) }, scope.pick(TURNS));
      return [{ ...values, unit: "ms", goal: moreAtMost(1.5) }];
    },
  },
  {
    number: NUMBER,
    work: "`kit serve`, launch to the first 200 on `/health`",
    baseline: "`kit infer`, to its first token",
    async measure(row) {
      const { size, pick } = row;
      const model = servedModel(row);
      const values = await alternate(
        {
          ours: () =>
            inScope(size, LIMIT_MS, (scope) =>
              time(async () => {
                const { url } = await startServe(scope, model, []);
                while ((await fetch(new URL("/health", url))).status !== 200) await delay(5);
              }),
            ),
          baseline: () =>
            time(() => {
              const args = [CLI, "infer", model, "a", "--max-tokens", "1"];
              const { status } = spawnSync(process.execPath, args, { stdio: "ignore" });
              if (status !== 0) throw new Error("`kit infer` failed.");
            }),
        },
        pick(TURNS),
      );
      return [{ ...values, unit: "ms", goal: ratioAtMost(1.3) }];
    },
  },
];

/** Several clients at once, against one alone. */
function manyClients(quantize: "q8_0" | undefined): Row {
  return {
    number: NUMBER,
    work: `\`kit serve\`, 16 concurrent clients of 135M parameters, ${quantize ?? "bfloat16"}`,
    baseline: "one client",
    async measure(scope) {
      const { server } = await startBoth(scope, { ...(quantize && { quantize }) });
      await server.ask();
      const alone = await together(1, server.ask);
      const all = await together(scope.pick(CLIENTS), server.ask);
      const speed: Measured = { ours: all.speed, baseline: alone.speed, unit: "tokens/s" };
      const gaps: Measured = { ours: all.p99, baseline: alone.p99, unit: "ms" };
      const isGoal = quantize === "q8_0";
      return [
        { ...speed, part: "together", ...(isGoal && { goal: ratioAtLeast(2.5) }) },
        { ...gaps, part: "between two tokens, p99", ...(isGoal && { goal: ratioAtMost(8) }) },
      ];
    },
  };
}

/** Several clients ask at once, twice each. */
async function together(clients: number, ask: () => Promise<StreamTimes>) {
  const start = performance.now();
  const answers = await Promise.all(
    Array.from({ length: clients }, async () => [await ask(), await ask()]),
  );
  const seconds = (performance.now() - start) / 1000;
  const all = answers.flat();
  const gaps = all.flatMap(({ gaps }) => gaps);
  return { speed: (gaps.length + all.length) / seconds, p99: percentile(gaps, 0.99) };
}

async function atRest(scope: Scope, { pid }: ChildProcess): Promise<Measured> {
  const seconds = scope.pick({ full: 60, quick: 15, tiny: 0.5 });
  const before = { ms: processMs(pid), at: performance.now() };
  await delay(seconds * 1000);
  const share = (processMs(pid) - before.ms) / (performance.now() - before.at);
  const oneRunOf = `${seconds} s`;
  return {
    part: "at rest, share of a core",
    oneRunOf,
    ours: share * 100,
    unit: "%",
    goal: atMost(0.2),
  };
}

/** A server, and a process that answers from the same model. */
async function startBoth(scope: Scope, more: Pick<StreamSizes, "quantize">) {
  const model = servedModel(scope);
  const sizes = { ...more, model, prompt: scope.pick(PROMPT), answer: scope.pick(ANSWER) };
  const options = more.quantize ? ["--quantize", more.quantize] : [];
  const { child, url } = await startServe(scope, model, options);
  while ((await fetch(new URL("/health", url))).status !== 200) await delay(20);
  const nextPrompt = createPrompts(model, sizes.prompt);
  return {
    sizes,
    own: startStreams(scope, sizes),
    server: {
      child,
      ask: () => timeChunks(askServe(url, nextPrompt(), sizes.answer)),
      peak: () => peakMemory(child.pid!),
    },
  };
}

function startStreams(scope: Scope, sizes: StreamSizes) {
  const args = [program("streams"), JSON.stringify(sizes)];
  return startWorker<StreamTimes>(scope, process.execPath, args);
}

function startServe(scope: Scope, model: string, options: string[]) {
  return started(scope.start(process.execPath, [CLI, "serve", model, "--port", "0", ...options]));
}

/** Links the model under the name that clients request. */
function servedModel(scope: Scope): string {
  const path = join(scope.folder(), "served", MODEL);
  mkdirSync(dirname(path));
  symlinkSync(openModelOf(scope), path);
  return path;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
