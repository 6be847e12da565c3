import { type AnswerProcesses, type Build, type Sizes, answerProcesses } from "../answerProcess.ts";
import type { AnswerTimes } from "../answers.ts";
import { type Goal, ratioAtLeast } from "../goals.ts";
import type { Major } from "../newerNode.ts";
import type { Measured, Row } from "../row.ts";
import type { Scope } from "../scope.ts";
import type { Worker } from "../worker.ts";

/** Minimum speed relative to each build of llama.cpp, on one thread and on two. */
type Goals = Partial<Record<Major, Record<Build, [number, number]>>>;

interface Kind {
  work: string;
  quantize?: "q8_0" | "q4_0";
  sequences?: number;
  goals?: Goals;
}

const PROMPT = { full: 32, quick: 32, tiny: 32 };
const ANSWER = { full: 128, quick: 24, tiny: 16 };
/** Tokens of concurrent answers. */
const SHORT_ANSWER = { full: 32, quick: 8, tiny: 16 };
const LONG_PROMPT = { full: 256, quick: 256, tiny: 32 };
const TURNS = { full: 4, quick: 2, tiny: 1 };
const MODEL = "SmolLM2-135M";

export const ANSWER_ROWS: Row[] = [
  speedRow({
    work: "bfloat16",
    goals: { 24: { avx2: [1.1, 1.4], picked: [1, 1] } },
  }),
  speedRow({
    work: "q8_0",
    quantize: "q8_0",
    goals: {
      20: { avx2: [1.1, 1.4], picked: [0.65, 0.65] },
      24: { avx2: [1.25, 1.6], picked: [0.8, 0.8] },
    },
  }),
  speedRow({
    work: "q4_0",
    quantize: "q4_0",
    goals: { 24: { avx2: [1.4, 1.2], picked: [0.75, 0.75] } },
  }),
  speedRow({
    work: "q8_0, 16 at once",
    quantize: "q8_0",
    sequences: 16,
    goals: {
      20: { avx2: [1.5, 1.5], picked: [1, 1] },
      24: { avx2: [1.5, 1.5], picked: [1, 1] },
    },
  }),
  promptRow({ work: "bfloat16" }),
  promptRow({ work: "q8_0", quantize: "q8_0" }),
];

/** Tokens per second after the first. */
function speedRow({ work, quantize, sequences = 1, goals }: Kind): Row {
  return {
    number: 25,
    work: `answers of ${MODEL}, ${work}`,
    measure(scope) {
      const answer = scope.pick(sequences === 1 ? ANSWER : SHORT_ANSWER);
      const sizes = { quantize, sequences, answer, prompt: scope.pick(PROMPT) };
      return besideLlama(scope, sizes, (best, { major, build, threads }) => {
        const minimum = major && build && goals?.[major]?.[build][threads - 1];
        const speed = (ms: number) => 1000 / ms;
        return {
          ours: speed(best.ours),
          baseline: speed(best.llama),
          unit: "tokens/s",
          ...(minimum !== undefined && { goal: ratioAtLeast(minimum) }),
        };
      });
    },
  };
}

/** From a prompt to the first token. */
function promptRow({ work, quantize }: Kind): Row {
  return {
    number: 25,
    work: `a prompt of 256 tokens, ${MODEL}, ${work}`,
    measure(scope) {
      const sizes = { quantize, sequences: 1, answer: 1, prompt: scope.pick(LONG_PROMPT) };
      return besideLlama(scope, sizes, ({ ours, llama }) => ({
        ours,
        baseline: llama,
        unit: "ms",
      }));
    },
  };
}

interface Best {
  ours: number;
  /** NaN without llama.cpp. */
  llama: number;
}
interface Setup {
  major: Major | undefined;
  build: Build | undefined;
  threads: number;
}
type Line = Pick<Measured, "ours" | "unit"> & { baseline: number; goal?: Goal };

/** Our Nodes and llama.cpp's builds, alternating, on one thread and on two. */
async function besideLlama(
  scope: Scope,
  sizes: Omit<Sizes, "threads">,
  lineOf: (best: Best, setup: Setup) => Line,
): Promise<Measured[]> {
  const processes = answerProcesses(scope);
  const { llama } = processes;
  const builds = (await llama?.builds()) ?? [];
  const majors: (Major | undefined)[] = scope.size === "tiny" ? [undefined] : [20, 24];
  const measure = sizes.answer === 1 ? "first" : "token";
  const lines: Measured[] = [];
  for (const threads of scope.size === "tiny" ? [1] : [1, 2]) {
    const workers: Record<string, Worker<AnswerTimes>> = {};
    for (const major of majors) workers[`${major}`] = processes.ours(major, { ...sizes, threads });
    for (const [build] of builds) workers[build] = llama!.start(build, { ...sizes, threads });
    const best: Record<string, number> = {};
    for (let turn = 0; turn < scope.pick(TURNS); turn++) {
      for (const [name, { ask }] of Object.entries(workers)) best[name] = (await ask())[measure];
    }
    for (const major of majors) {
      const ours = best[`${major}`] ?? NaN;
      const part = `${major === undefined ? "this Node" : `Node ${major}`}, ${threads} ${threads === 1 ? "thread" : "threads"}`;
      for (const [build, against] of builds) {
        const line = lineOf({ ours, llama: best[build] ?? NaN }, { major, build, threads });
        lines.push({ part, against, ...line });
      }
      if (llama) continue;
      const { ours: alone, unit } = lineOf(
        { ours, llama: NaN },
        { major, build: undefined, threads },
      );
      lines.push({ part: `${part} (no llama.cpp: npm run llama)`, ours: alone, unit });
    }
  }
  return lines;
}

/** Bytes of a token's keys and values: per layer 2 × 3 heads of 64 float32 numbers. */
const KV_BYTES = 2 * 30 * 3 * 64 * 4;

export const answerMemory: Row = {
  number: 25,
  work: `memory of a process that answers with ${MODEL}, q8_0`,
  async measure(scope) {
    const sizes: Sizes = {
      quantize: "q8_0",
      threads: 2,
      sequences: 1,
      prompt: scope.pick(PROMPT),
      answer: scope.pick(ANSWER),
    };
    const { ours, llama } = answerProcesses(scope);
    const own = await peakOf(ours(scope.size === "tiny" ? undefined : 24, sizes));
    const grown = { part: "growth from loading to an answer", ours: own.grown, unit: "MB" };
    const peak = { part: "peak", ours: own.peak, unit: "MB" } as const;
    if (!llama) return [grown, peak].map((line) => noLlama(line as Measured));
    const other = await peakOf(llama.start("avx2", sizes));
    const pages = ((sizes.prompt + sizes.answer) * KV_BYTES) / 1e6;
    const goal: Goal = {
      text: () => "≤ 1.1 × and keys and values",
      isMet: (ours, baseline) => ours <= 1.1 * baseline + pages,
    };
    const against = "the file's size";
    const baseline = llama.fileSize("q8_0");
    return [
      { ...grown, unit: "MB", baseline, against, goal },
      { ...grown, unit: "MB", baseline: other.grown, against: "llama.cpp's" },
      { ...peak, baseline: other.peak, against: "llama.cpp's" },
    ];
  },
};

/** Memory after two answers: the second takes no more. */
async function peakOf({ ask, peak }: ReturnType<AnswerProcesses["ours"]>) {
  await ask();
  const { grown } = await ask();
  return { grown, peak: peak() };
}

function noLlama(line: Measured): Measured {
  return { ...line, part: `${line.part} (no llama.cpp: npm run llama)` };
}
