// How much longer a token takes that is drawn than the likeliest, of a model that is little but its
// vocabulary; prints JSON, a `DrawTimes`.
//   draw.js <folder> <vocabulary> <tokens>   an empty folder; tokens of an answer
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { InferRequest } from "../../protocol/infer.ts";
import type * as sdk from "../../sdk/index.ts";
import { TINY_OPEN_SHAPE, makeModel } from "../openModel.ts";
import { ROOT } from "../places.ts";

/** Of a token, in ms. */
export interface DrawTimes {
  greedy: number;
  /** Of logits as a language model's, of which few hold most of the probability. */
  peaked: number;
  /** Of nearly equal logits. */
  flat: number;
}

const ANSWERS = 7;
/** Random weights have logits of deviation 1; at this temperature they are as those of deviation 4. */
const PEAKED = 0.25;

const [folder = "", ...numbers] = process.argv.slice(2);
const [vocabulary = 0, maxTokens = 0] = numbers.map(Number);
process.env["KIT_THREADS"] = "1";

const { loadModel } = (await import(join(ROOT, "dist", "sdk", "index.js"))) as typeof sdk;
const directory = makeModel(folder, { ...TINY_OPEN_SHAPE, vocabulary });
fillVocabulary(join(directory, "tokenizer.json"));
const model = await loadModel(directory);

const kinds = {
  greedy: {},
  peaked: { temperature: PEAKED, topP: 0.9 },
  flat: { temperature: 1, topP: 0.9 },
};
const times: DrawTimes = { greedy: Infinity, peaked: Infinity, flat: Infinity };
// The first doesn't count.
for (let seed = 0; seed <= ANSWERS; seed++) {
  for (const kind of ["greedy", "peaked", "flat"] as const) {
    const ms = await tokenTime({ prompt: "a", maxTokens, seed, ...kinds[kind] });
    if (seed > 0) times[kind] = Math.min(times[kind], ms);
  }
}
await model.close();
console.log(JSON.stringify(times));

async function tokenTime(request: InferRequest): Promise<number> {
  const start = process.cpuUsage();
  const { tokens } = await model.infer(request);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000 / tokens;
}

/** So that an answer may have every token. */
function fillVocabulary(file: string): void {
  const tokenizer = JSON.parse(readFileSync(file, "utf8")) as {
    model: { vocab: Record<string, number> };
    added_tokens: { id: number }[];
  };
  const { vocab } = tokenizer.model;
  const known = new Set([...Object.values(vocab), ...tokenizer.added_tokens.map(({ id }) => id)]);
  for (let id = 0; id < vocabulary; id++) if (!known.has(id)) vocab[`token${id}`] = id;
  writeFileSync(file, JSON.stringify(tokenizer));
}
