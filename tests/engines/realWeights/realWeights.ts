import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Engine } from "../../../protocol/engine.ts";
import type { EngineEvent } from "../../../protocol/event.ts";
import type { TrainingOptions } from "../../../protocol/trainConfig.ts";
import { jsonl } from "../embedded/scratch.ts";
import type { Scratch } from "../scratch.ts";

/** SmolLM2-135M-Instruct in bfloat16, as `npm run python` makes it. */
export const REAL_WEIGHTS = fileURLToPath(new URL("../../../.real-weights", import.meta.url));
export const hasRealWeights = existsSync(join(REAL_WEIGHTS, "model.safetensors"));

/** Questions to tune on, and their answers. */
export const TICKETS = [
  { prompt: "My parcel never came.", completion: "shipping" },
  { prompt: "I was charged twice.", completion: "payments" },
  { prompt: "The lamp is broken.", completion: "quality" },
  { prompt: "How do I send it back?", completion: "returns" },
];

/** An adapter's steps on the tickets. */
export const TUNING = {
  maxSteps: 20,
  batchSize: 1,
  learningRate: 5e-3,
  warmupSteps: 2,
  loggingSteps: 1,
  lora: { r: 8, alpha: 16, targetModules: ["q_proj", "v_proj"] },
} satisfies Partial<TrainingOptions>;

/** Trains on the real weights, or on a copy of them. */
export async function tune(
  engine: Engine,
  scratch: Scratch,
  more: Partial<TrainingOptions> = {},
  rows: object[] = TICKETS,
) {
  const directory = scratch.directory();
  const dataset = { type: "jsonl", path: scratch.file("rows.jsonl", jsonl(rows)) } as const;
  const config = engine.prepare({ model: REAL_WEIGHTS, dataset, ...TUNING, ...more });
  const events: EngineEvent[] = [];
  const { signal } = new AbortController();
  await engine.train({ config, directory, signal, onEvent: (event) => events.push(event) });
  const logs = events.flatMap(({ event, data }) => (event === "training.log" ? [data] : []));
  const adapter = join(directory, `artifacts/step-${config.maxSteps}`);
  return { logs, losses: logs.map(({ loss }) => loss ?? NaN), adapter };
}
