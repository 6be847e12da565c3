// What q8_0 and q4_0 change, for docs/models.md, by hand after a build:
//   node scripts/quantized.mjs [checkpoint] [rows.jsonl]
// The share of prompts whose greedy answer is that of the checkpoint's own type, and the perplexity of held-out
// text. Without names: the real weights on 100 questions and on this repository's documentation, which
// is younger than they are. With rows of an adapter: their prompts and completions.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./files.mjs";
import { REAL_WEIGHTS } from "./realWeights.mjs";

const TYPES = [undefined, "q8_0", "q4_0"];
const MAX_TOKENS = 64;
/** Of the documentation, in tokens. */
const PASSAGE = 256;
const PASSAGES = 8;
/** Of a token, on average. */
const MOST_CHARACTERS = 8;
const PAGES = ["trainer", "reliability", "how-it-works", "containers"];
const TASKS = [
  ...["Explain", "Describe", "Write a poem about", "Give three facts about", "Define"],
  ...["Tell a joke about", "What is interesting about", "Why do people like"],
  ...["Ask a question about", "Write one sentence about"],
];
const SUBJECTS = [
  ...["rain", "bread", "the moon", "bicycles", "honey", "chess", "trains", "salt"],
  ...["winter", "mathematics"],
];

const [checkpoint = REAL_WEIGHTS, file] = process.argv.slice(2);
const rows =
  file &&
  readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
const prompts = rows ? rows.map(({ prompt }) => prompt).slice(0, 100) : questions();

const { loadModel } = await built("sdk/index.js");
const { openCheckpoint } = await built("engines/checkpoint/checkpoint.js");
const { compileKernels } = await built("engines/embedded/kernels/module.js");
const { fittedDecoder } = await built("engines/embedded/infer/fittedDecoder.js");

const { tokenizer, promptStyle } = openCheckpoint(checkpoint);
const texts = rows ? rows.map(spansOf) : passages();
const own = await answersOf(undefined);
for (const type of TYPES) {
  const answers = type === undefined ? own : await answersOf(type);
  const equal = answers.filter((answer, i) => answer === own[i]).length;
  const measured = perplexity(startReading(type), texts).toFixed(3);
  const name = type ?? "the checkpoint's type";
  console.log(`${name}: ${equal} of ${answers.length} answers equal, perplexity ${measured}`);
}

/** Greedy answers to the prompts. */
async function answersOf(quantize) {
  const model = await loadModel(checkpoint, { ...(quantize && { quantize }) });
  const asked = prompts.map((prompt) => model.infer({ prompt, maxTokens: MAX_TOKENS }));
  const answers = await Promise.all(asked);
  await model.close();
  return answers.map(({ text }) => text);
}

/**
 * @param start begins a text; returns a function that reads its next token, and answers the logits
 * [vocabulary] of the one after it
 * @param texts `{ tokens, from }`: tokens are predicted from the place `from` on
 */
function perplexity(start, texts) {
  let [loss, count] = [0, 0];
  for (const { tokens, from } of texts) {
    const read = start();
    let logits;
    for (const [at, token] of tokens.entries()) {
      if (at >= from) {
        loss += lossOf(logits, token);
        count++;
      }
      if (at + 1 < tokens.length) logits = read(token);
    }
  }
  return Math.exp(loss / count);
}

/** In nats. */
function lossOf(logits, token) {
  const highest = logits.reduce((most, logit) => Math.max(most, logit), -Infinity);
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - highest), 0);
  return Math.log(sum) + highest - logits[token];
}

/** As `perplexity` takes it: without a mask, every token has its logit. */
function startReading(quantize) {
  const { shape, weights } = openCheckpoint(checkpoint);
  const { decoder } = fittedDecoder(compileKernels(), shape, weights, { quantize });
  return () => {
    const sequence = decoder.begin([]);
    return (token) => {
      sequence.grow(1);
      return decoder.step([{ sequence, tokens: [token], wanted: 1 }])[0][0].logits;
    };
  };
}

/** Parts of the documentation. */
function passages() {
  const text = PAGES.map((name) => readFileSync(join(ROOT, "docs", `${name}.md`), "utf8")).join(
    "\n",
  );
  return Array.from({ length: PASSAGES }, (_, i) => {
    const begin = Math.floor((i * text.length) / PASSAGES);
    const prompt = text.slice(begin, begin + PASSAGE * MOST_CHARACTERS);
    const tokens = tokenizer.promptTokens({ prompt }, "text");
    return { tokens: tokens.slice(0, PASSAGE), from: 1 };
  });
}

/** A row with its completion, which alone is predicted. */
function spansOf({ prompt, completion }) {
  const before = tokenizer.promptTokens({ prompt }, promptStyle);
  const after = tokenizer.promptTokens({ prompt: completion }, "text");
  return { tokens: [...before, ...after], from: before.length };
}

function questions() {
  return TASKS.flatMap((task) => SUBJECTS.map((subject) => `${task} ${subject}.`));
}

/** A module of Kit as it is built. */
function built(path) {
  return import(join(ROOT, "dist", path));
}
