// The engine's work and its matrix multiplications alone, alternating in one process.
//   engine.js train <sizes>   tokens per second: a step, against its matmuls alone
//   engine.js memory <sizes>  bytes in the second and in the last fifth of the steps; wants node --expose-gc
// <sizes> is `EngineSizes` as JSON. Prints JSON.
import { type EngineSizes, shapeOf, startLearning } from "../engine.ts";
import { stepMatmuls } from "../products.ts";
import { alternate, median, time } from "../statistics.ts";

const [mode, json = "{}"] = process.argv.slice(2);
const sizes = JSON.parse(json) as EngineSizes;
const { rows, length, steps, runs } = sizes;
const tokens = rows * length;

const MODES: Record<string, () => Promise<object>> = { train, memory };
const work = MODES[mode ?? ""];
if (!work) throw new Error(`There is no mode ${mode}.`);
console.log(JSON.stringify(await work()));
process.exit(0);

function train(): Promise<object> {
  const { learn } = startLearning(sizes);
  const matmuls = stepMatmuls(shapeOf(sizes.model), rows, length);
  return alternate(
    { ours: () => tokensPerSecond(learn), baseline: () => tokensPerSecond(matmuls) },
    runs,
  );
}

/** Everything that stays in memory was allocated in the first fifth. */
async function memory(): Promise<object> {
  const { learn } = startLearning(sizes);
  function fifth() {
    const samples: NodeJS.MemoryUsage[] = [];
    for (let step = 1; step <= steps / 5; step++) {
      learn();
      if (step % Math.ceil(steps / 100) !== 0) continue;
      globalThis.gc?.();
      samples.push(process.memoryUsage());
    }
    return {
      resident: median(samples.map(({ rss }) => rss)),
      // WebAssembly's memory, which holds all arrays and little else.
      arrays: median(samples.map(({ external }) => external)),
    };
  }
  fifth();
  const before = fifth();
  fifth();
  fifth();
  return Promise.resolve({ before, after: fifth() });
}

async function tokensPerSecond(step: () => unknown): Promise<number> {
  const ms = await time(() => {
    for (let i = 0; i < steps; i++) step();
  });
  return (tokens * steps * 1000) / ms;
}
