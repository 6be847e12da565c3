import { availableSimd } from "../../engines/embedded/kernels/simd.ts";
import { randomAdapter } from "../../engines/lora/adapter.ts";
import { OPTIONS, backpropagate, createTeam, limitsOf, planTraining } from "../engine.ts";
import { type Goal, ratioAtLeast, ratioAtMost } from "../goals.ts";
import { benchPython, torchDevice } from "../gpu.ts";
import {
  LARGE_OPEN_SHAPE,
  OPEN_LORA,
  OPEN_SEED,
  OPEN_SHAPE,
  TINY_OPEN_SHAPE,
} from "../openShape.ts";
import { STEP_SCRIPT } from "../paths.ts";
import type { Measured, Row, Size } from "../row.ts";
import type { Scope } from "../scope.ts";
import {
  type BatchSizes,
  createBatch,
  createWeights,
  describeGpu,
  measureWebgpu,
  timeSteps,
} from "../webgpu.ts";
import { startWorker } from "../worker.ts";

interface Sizes extends BatchSizes {
  model: string;
  /** Steps of the embedded engine, which takes up to a minute for one; the best counts. */
  cpuSteps: number;
}

const SMALL = { model: "SmolLM2-135M", shape: OPEN_SHAPE };
const LARGE = { model: "SmolLM2-1.7B", shape: LARGE_OPEN_SHAPE };
const FULL: Sizes[] = [
  { ...SMALL, rows: 1, length: 256, cpuSteps: 3 },
  { ...SMALL, rows: 8, length: 512, cpuSteps: 1 },
  { ...SMALL, rows: 8, length: 1024, cpuSteps: 0 },
  { ...LARGE, rows: 4, length: 512, cpuSteps: 0 },
];
const SIZES: Record<Size, Sizes[]> = {
  full: FULL,
  quick: FULL.map((sizes) => ({ ...sizes, cpuSteps: 0 })),
  tiny: [{ model: "a tiny model", shape: TINY_OPEN_SHAPE, rows: 1, length: 8, cpuSteps: 1 }],
};
const THREADS = 2;

/** Types of PyTorch's base. */
const TYPES = { bfloat16: ratioAtMost(4), float32: ratioAtMost(2) };

/** For a report by someone with a GPU: `npm run bench -- --rows webgpu`. */
export async function webgpuRows(size: Size): Promise<Row[]> {
  console.log(await describeGpu());
  const device = findTorch();
  return SIZES[size].map((sizes) => rowOf(sizes, device));
}

function findTorch(): string | undefined {
  try {
    return torchDevice();
  } catch (error) {
    console.log(`PyTorch's lines are left out. ${(error as Error).message}`);
    return undefined;
  }
}

function rowOf(sizes: Sizes, device: string | undefined): Row {
  const { model, rows, length, cpuSteps } = sizes;
  return {
    number: 31,
    work: `LoRA of ${model}'s size with \`engine: webgpu()\`, ${rows} × ${length}`,
    async measure(scope) {
      const { ms, encodingMs, megabytes, gflop } = await measureWebgpu(sizes);
      const part = `a step (${gflop.toFixed(1)} GFLOP in products)`;
      const step: Measured = { part, ours: ms, unit: "ms" };
      const memory: Measured = { part: "memory", ours: megabytes, unit: "MB" };
      const torch = device === undefined ? [] : await measureTorch(scope, sizes, device);
      const lines: Measured[] = torch.map(({ ms, against, goal }) => ({
        ...step,
        baseline: ms,
        against,
        goal,
      }));
      if (lines.length === 0) lines.push(step);
      const { MB: baseline, against } = torch.find(({ MB }) => MB !== undefined) ?? {};
      lines.push(against ? { ...memory, baseline, against, goal: ratioAtMost(1.2) } : memory);
      if (cpuSteps > 0) {
        const speed = (ms: number) => (1000 * rows * length) / ms;
        const against = `the embedded engine's on ${THREADS} threads with ${availableSimd()} SIMD`;
        const values = { ours: speed(ms), baseline: speed(measureCpu(sizes)) };
        lines.push({ ...values, against, unit: "tokens/s", goal: ratioAtLeast(15) });
      }
      lines.push({ part: "JavaScript until a step is submitted", ours: encodingMs, unit: "ms" });
      return lines;
    },
  };
}

interface TorchStep {
  ms: number;
  /** Peak of its memory, on CUDA. */
  MB?: number;
}

async function measureTorch(scope: Scope, { shape, rows, length }: Sizes, device: string) {
  const { ask } = startWorker<TorchStep>(scope, benchPython(), [STEP_SCRIPT]);
  const measured: (TorchStep & { against: string; goal: Goal })[] = [];
  for (const [type, goal] of Object.entries(TYPES)) {
    let last: TorchStep | undefined;
    const task = { shape, rows, length, device, type, threads: 1, lora: true };
    try {
      const ms = await timeSteps(async (steps) => (last = await ask({ ...task, steps })).ms);
      measured.push({ ...last, ms, against: `PyTorch's with PEFT in ${type}`, goal });
    } catch (error) {
      // Its memory may not suffice.
      console.error(`PyTorch in ${type}: ${(error as Error).message}`);
    }
  }
  return measured;
}

/** @returns the best time of a step in ms */
function measureCpu({ shape, rows, length, cpuSteps }: Sizes): number {
  const frozen = createWeights(shape);
  const of = { shape, bfloat16: new Set(frozen.tensors.keys()), lora: OPEN_LORA, options: OPTIONS };
  const plan = planTraining({ ...of, threads: THREADS, limits: limitsOf(rows, length) });
  const learner = createTeam(plan, randomAdapter(OPEN_LORA, shape, OPEN_SEED), frozen);
  const batch = createBatch({ shape, rows, length });
  const times = Array.from({ length: cpuSteps }, (_, index) => {
    const start = performance.now();
    backpropagate(learner, batch);
    learner.update(index + 1, 1e-4);
    return performance.now() - start;
  });
  return Math.min(...times);
}
