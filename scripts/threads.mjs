// node scripts/threads.mjs [rows] [tokens]
// What more threads would give a step of SmolLM2-135M with LoRA, computed from a step on one thread,
// for docs/engines.md. Between two barriers, threads claim pieces of work, here taken to be equally
// long; a section takes as long as the thread that claims most. What is not claimed is one thread's.
// Left out: packing what other threads pack too, and threads that share a core, caches or the memory.
import { openCheckpoint } from "../dist/engines/checkpoint/checkpoint.js";
import { compileKernels } from "../dist/engines/embedded/kernels/module.js";
import { columnShares, rowShares } from "../dist/engines/embedded/kernels/products.js";
import { squareOf } from "../dist/engines/embedded/ops/attention.js";
import { createLearner } from "../dist/engines/embedded/step/learner.js";
import { planTraining } from "../dist/engines/embedded/step/trainingPlan.js";
import { PROJECTIONS } from "../dist/engines/families/projections.js";
import { randomAdapter } from "../dist/engines/lora/adapter.js";
import { bfloat16Of } from "../dist/engines/modelFiles/tensors.js";
import { createRandom } from "../dist/engines/random.js";
import { REAL_WEIGHTS } from "./realWeights.mjs";

const [rows = 1, length = 256] = process.argv.slice(2).map(Number);
const TEAMS = [1, 2, 4, 8, 16];
const STEPS = 7;
/** The kernels' control block: `arrived`, `meeting`, then counters, a cache line each. */
const [LINE, FIRST_COUNTER, COUNTERS] = [64, 2, 16];

/** Of the step in work: milliseconds between two barriers, and pieces to claim for so many threads. */
let sections = [];
let last = 0;

function endSection(pieces) {
  sections.push({ ms: performance.now() - last, pieces });
  last = performance.now();
}

/** As many as products.ts makes for a product that one thread has claimed in shares of `asked`. */
function productPieces(m, n, depth, ...asked) {
  const isOf = (shares) => String(shares(m, n, depth, 1)) === String(asked);
  const shares = isOf(columnShares) ? columnShares : rowShares;
  return (threads) => {
    const [row, column] = shares(m, n, depth, threads);
    return Math.ceil(m / row) * Math.ceil(n / column);
  };
}

const { Instance } = WebAssembly;
/** Kernels that note what they do. */
WebAssembly.Instance = function watched(module, imports) {
  const kernels = { ...new Instance(module, imports).exports };
  if (!kernels.barrier) return { exports: kernels };
  const { barrier, join, product } = kernels;
  const words = new Int32Array(imports.env.memory.buffer);
  let counters = 0;
  /** Claims since the last barrier, without the last of each counter, which found nothing. */
  const claims = () =>
    Array.from({ length: COUNTERS }, (_, i) =>
      Math.max(0, words[(counters + i * LINE) >>> 2] - 1),
    ).reduce((sum, count) => sum + count, 0);
  let counted = 0;
  function endClaimed() {
    const count = claims() - counted;
    endSection(() => count);
  }
  const watch = {
    join(count, control, own) {
      counters = control + FIRST_COUNTER * LINE;
      join(count, control, own);
    },
    product(...of) {
      endClaimed();
      product(...of);
      counted = claims();
      endSection(productPieces(...of));
    },
    barrier() {
      endClaimed();
      counted = 0;
      barrier();
    },
  };
  return { exports: Object.assign(kernels, watch) };
};

const { shape, weights } = openCheckpoint(REAL_WEIGHTS);
const lora = { r: 16, alpha: 32, targetModules: [...PROJECTIONS] };
const tokens = rows * length;
const sizes = { tokens, selected: tokens, sequences: rows, longest: length };
const plan = planTraining({
  ...{ shape, bfloat16: bfloat16Of(weights), lora, threads: 1 },
  limits: { ...sizes, squares: rows * squareOf(length) },
  options: { weightDecay: 0.01, maxGradNorm: 1 },
});
const initial = { trained: randomAdapter(lora, shape, 1), frozen: weights };
const learner = createLearner(plan, initial, { module: compileKernels(), invite: () => {} });
const random = createRandom(1);
const batch = Array.from({ length: rows }, () => {
  const token = () => Math.floor(random.uniform() * 49_152);
  const learned = new Uint8Array(length + 1).fill(1, 1);
  return { sequences: [{ tokens: Uint32Array.from({ length: length + 1 }, token), learned }] };
});

let best = { ms: Infinity, sections };
for (let step = 1; step <= STEPS; step++) {
  sections = [];
  last = performance.now();
  learner.backpropagate(batch, 1 / tokens, false);
  learner.gradNorm();
  learner.update(step, 1e-4);
  endSection(() => 0);
  const ms = sections.reduce((sum, section) => sum + section.ms, 0);
  if (ms < best.ms) best = { ms, sections };
}

console.log(`${rows} x ${length}: ${Math.round(best.ms)} ms a step on one thread`);
for (const threads of TEAMS) {
  let [ms, unclaimed] = [0, 0];
  for (const section of best.sections) {
    const pieces = section.pieces(threads);
    if (pieces === 0) unclaimed += section.ms;
    ms += pieces === 0 ? section.ms : (section.ms * Math.ceil(pieces / threads)) / pieces;
  }
  const share = ((100 * unclaimed) / ms).toFixed(1);
  console.log(`${threads} threads: ${(best.ms / ms).toFixed(2)} x, ${share} % of it one thread's`);
}
