import { createProject } from "../project.ts";

interface TinyTrainer {
  name?: string;
  steps?: number;
  /** Source of the callbacks object. */
  callbacks?: string;
}

const ROWS = Array.from({ length: 32 }, (_, row) => ({ prompt: `${row}`, completion: `${row}` }));

/** A project whose training takes about a second, most of it compiling. */
export function createTinyProject(trainer: TinyTrainer = {}): string {
  return createProject({
    "src/kit/index.ts": tinySource(trainer),
    "data/train.jsonl": ROWS.map((row) => JSON.stringify(row)).join("\n"),
  });
}

export function tinySource({ name = "tiny", steps = 20, callbacks = "{}" }: TinyTrainer): string {
  return `
import { createKit, createTrainer } from "kit";
const trainer = createTrainer({
  name: ${JSON.stringify(name)},
  model: { layers: 1, heads: 1, width: 8, context: 16 },
  dataset: { type: "jsonl", path: "data/train.jsonl" },
  batchSize: 4, maxSteps: ${steps}, loggingSteps: 1, saveSteps: ${steps},
  callbacks: ${callbacks},
});
export default createKit({ trainer });
`;
}
