import { existsSync } from "node:fs";
import { join } from "node:path";
import type * as embedded from "../../engines/embedded/index.ts";
import type * as python from "../../engines/python/index.ts";
import type { Engine } from "../../protocol/engine.ts";
import { ROOT } from "../paths.ts";
import type { Row } from "../row.ts";
import type { Scope } from "../scope.ts";

const PYTHON = join(ROOT, ".python", "bin", "python");
const STEPS: Record<Scope["size"], number> = { full: 60, quick: 20, tiny: 1 };

export const engines: Row = {
  number: 19,
  work: "training `kit/nano`, batch 32, with `engine: python()`",
  baseline: "with the embedded engine",
  async measure(scope) {
    const steps = scope.pick(STEPS);
    const { createEmbeddedEngine } = await built<typeof embedded>("embedded");
    const baseline = await speedOf(createEmbeddedEngine(), steps, scope.folder());
    if (!existsSync(PYTHON) || scope.size === "tiny") {
      const part = "the embedded engine alone (no PyTorch: npm run python)";
      return [{ part, ours: baseline, unit: "tokens/s" }];
    }
    const { createPythonEngine } = await built<typeof python>("python");
    const engine = createPythonEngine({ path: PYTHON });
    const ours = await speedOf(engine, steps, scope.folder());
    return [{ ours, baseline, unit: "tokens/s" }];
  },
};

/** Imports a built engine. */
async function built<T>(name: string): Promise<T> {
  return (await import(join(ROOT, "dist", "engines", name, "index.js"))) as T;
}

/** Training speed over the steps after the first two, in tokens per second. */
async function speedOf(engine: Engine, steps: number, directory: string): Promise<number> {
  const path = join(ROOT, "templates", "quickstart", "data", "train.jsonl");
  const dataset = { type: "jsonl", path } as const;
  const config = engine.prepare({ dataset, maxSteps: steps, loggingSteps: steps });
  let speed = NaN;
  await engine.train({
    config,
    directory,
    signal: new AbortController().signal,
    onEvent({ event, data }) {
      if (event === "training.log") speed = data.tokensPerSecond ?? NaN;
    },
  });
  return speed;
}
