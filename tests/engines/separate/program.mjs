// The other side of `engine.ts`: one line of JSON in, lines of JSON out. Runs from dist/.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const dist = (path) => import(new URL(`../../../dist/engines/${path}`, import.meta.url).href);
const { modelFiles, openCheckpoint } = await dist("checkpoint/checkpoint.js");
const { writeDirectory } = await dist("checkpoint/directory.js");
const { heldOutRows } = await dist("dataset/heldOut.js");
const { readRows } = await dist("dataset/rows.js");
const { createAnswers } = await dist("answers/answers.js");
const { spansOf } = await dist("tokens/byteChat.js");
const { BYTE_TOKENIZER } = await dist("tokens/byteTokenizer.js");
const { resolveModel } = await dist("families/modelSource.js");
const { readAll } = await dist("modelFiles/tensors.js");
const { createRandom } = await dist("dataset/random.js");
const { SPECIALS, VOCABULARY, decode } = await dist("tokens/byteTokens.js");
const { learningRate, stepCount } = await dist("training/schedule.js");
const { rowsPerStep } = await dist("../protocol/trainConfig.js");
const { parseJson, stringifyJson } = await dist("../protocol/json.js");
const { EMBEDDING } = await dist("families/projections.js");
const { randomWeights } = await dist("families/randomWeights.js");

/** The optimizer's state. */
const ADAM = "adam.json";
const report = (message) => process.stdout.write(`${stringifyJson(message)}\n`);
const lines = createInterface(process.stdin)[Symbol.asyncIterator]();
const job = JSON.parse((await lines.next()).value);

try {
  await { train, check, load: answer }[job.type](job);
} catch ({ code = "WORKER_FAILED", message, fault }) {
  report({ type: "failed", code, message });
} finally {
  process.stdin.destroy();
}

/** The state that a training begins with, and its first event. */
function begin(config, resumeFrom) {
  const source = resolveModel(config.model);
  const start = resumeFrom
    ? opened(resumeFrom)
    : source.kind === "untrained"
      ? { shape: source.dimensions, weights: randomWeights(source.dimensions, config.seed) }
      : opened(source.directory);
  if (source.kind === "untrained" && source.dimensions.width !== start.shape.width) {
    const message = "The checkpoint is of another model. Start without resume.";
    throw Object.assign(new Error(message), { code: "CHECKPOINT_INVALID" });
  }
  const { rows, heldOut } = readHeldOut(config);
  const pairs = rows.map(toPairs);
  const maxSteps = stepCount(config, pairs.length);
  const embedding = start.weights[EMBEDDING].data;
  const parameters = embedding.length;
  const evalRows = heldOut?.length;
  const started = { model: source.name, parameters, rows: rows.length, evalRows, maxSteps };
  return { start, rows, pairs, heldOut: heldOut?.map(toPairs), maxSteps, embedding, started };
}

function check({ config }) {
  const { rows, pairs, embedding, started } = begin(config);
  const lengths = rows.map((spans) => spans.reduce((sum, { tokens }) => sum + tokens.length, 0));
  const firstRow = rows[0].map(({ tokens, isLearned }) => {
    const special = Object.keys(SPECIALS).find((name) => SPECIALS[name] === tokens[0]);
    return { text: special ? `<|${special}|>` : decode(tokens), isLearned, isSpecial: !!special };
  });
  const check = {
    ...{ started, firstRow, longestRow: Math.max(...lengths) },
    ...{ learnedTokens: pairs.flat().length, memoryBytes: 4 * embedding.byteLength },
  };
  report({ type: "check", check });
}

function train({ config, directory, resumeFrom }) {
  const { loggingSteps, saveSteps, evalSteps, seed } = config;
  const { start, pairs, heldOut, maxSteps, embedding, started } = begin(config, resumeFrom);
  const event = (name, data) => report({ type: "event", event: { event: name, data } });
  event("training.started", started);
  const random = createRandom(seed, "order");
  const before = resumeFrom && JSON.parse(readFileSync(join(resumeFrom, ADAM), "utf8"));
  const { step: trained, first, second } = before ?? { step: 0 };
  for (let i = 0; i < trained * rowsPerStep(config); i++) random.uniform();
  const { adam, state } = createAdam(embedding, first, second);
  for (let step = trained + 1; step <= maxSteps; step++) {
    const rows = Array.from({ length: rowsPerStep(config) }, () =>
      pairs.at(Math.floor(random.uniform() * pairs.length)),
    );
    const { loss, gradient } = lossOf(embedding, start.shape.width, rows.flat());
    const gradNorm = Math.hypot(...gradient);
    const rate = learningRate(step, maxSteps, config);
    adam(gradient, step, rate);
    if (!Number.isFinite(loss + gradNorm) || !embedding.every(Number.isFinite)) {
      const message = `Training diverged at step ${step}. Lower the learningRate.`;
      throw Object.assign(new Error(message), { code: "DIVERGED" });
    }
    const isDue = (every) => step === maxSteps || step % every === 0;
    const evalLoss = heldOut && isDue(evalSteps) ? evaluate(start, heldOut.flat()) : undefined;
    if (step <= 2 || isDue(loggingSteps) || evalLoss !== undefined) {
      const metrics = { perplexity: Math.exp(loss) };
      event("training.log", { step, loss, evalLoss, gradNorm, learningRate: rate, metrics });
    }
    if (!isDue(saveSteps)) continue;
    const path = `artifacts/step-${step}`;
    writeDirectory(join(directory, path), {
      ...modelFiles(start.weights, { ...start, promptStyle: "message" }),
      [ADAM]: JSON.stringify({ step, ...state() }),
    });
    event("checkpoint.saved", { step, kind: "model", path });
  }
  report({ type: "done" });
}

function opened(directory) {
  const { shape, weights } = openCheckpoint(directory);
  return { shape, weights: readAll(weights) };
}

/** The rows to train on, and those to evaluate on. */
function readHeldOut({ dataset, evalDataset, evalSplit, seed }) {
  const read = ({ path }) => [...readRows(path)].map(({ row }) => spansOf(row));
  const rows = read(dataset);
  if (evalDataset) return { rows, heldOut: read(evalDataset) };
  if (evalSplit === undefined) return { rows };
  const isHeldOut = heldOutRows(rows.length, evalSplit, seed);
  const part = (mark) => rows.filter((_, row) => isHeldOut[row] === mark);
  return { rows: part(0), heldOut: part(1) };
}

function evaluate({ weights, shape }, pairs) {
  return lossOf(weights[EMBEDDING].data, shape.width, pairs).loss;
}

/** Each learned token of a row, after the one before it. */
function toPairs(spans) {
  const tokens = spans.flatMap(({ tokens, isLearned }) =>
    Array.from(tokens, (token) => ({ token, isLearned })),
  );
  return tokens
    .map(({ token, isLearned }, i) => ({ from: tokens[i - 1]?.token, token, isLearned }))
    .filter(({ isLearned }) => isLearned);
}

/** Tied embeddings and nothing between: the logits after a token are its row's products with all. */
function logitsAfter(embedding, width, token) {
  const row = embedding.subarray(token * width, (token + 1) * width);
  return Float64Array.from({ length: VOCABULARY }, (_, id) =>
    row.reduce((sum, value, i) => sum + value * embedding[id * width + i], 0),
  );
}

function lossOf(embedding, width, pairs) {
  const gradient = new Float64Array(embedding.length);
  let loss = 0;
  for (const { from, token } of pairs) {
    const logits = logitsAfter(embedding, width, from);
    const highest = logits.reduce((most, logit) => Math.max(most, logit));
    const total = logits.reduce((sum, logit) => sum + Math.exp(logit - highest), 0);
    loss += (highest + Math.log(total) - logits[token]) / pairs.length;
    logits.forEach((logit, id) => {
      const slope = Math.exp(logit - highest) / total - (id === token ? 1 : 0);
      for (let i = 0; i < width; i++) {
        gradient[id * width + i] += (slope * embedding[from * width + i]) / pairs.length;
        gradient[from * width + i] += (slope * embedding[id * width + i]) / pairs.length;
      }
    });
  }
  return { loss, gradient };
}

function createAdam(values, ...means) {
  const [first, second] = [0, 1].map((i) => Float64Array.from(means[i] ?? values.map(() => 0)));
  const state = () => ({ first: [...first], second: [...second] });
  const adam = (gradient, step, rate) => {
    gradient.forEach((slope, i) => {
      first[i] = 0.9 * first[i] + 0.1 * slope;
      second[i] = 0.95 * second[i] + 0.05 * slope ** 2;
      const spread = Math.sqrt(second[i] / (1 - 0.95 ** step)) + 1e-8;
      values[i] -= (rate * (first[i] / (1 - 0.9 ** step))) / spread;
    });
  };
  return { adam, state };
}

async function answer({ directory }) {
  const { shape, weights } = opened(directory);
  const embedding = weights[EMBEDDING].data;
  const { answer } = createAnswers({
    ...{ context: shape.context, promptStyle: "text", tokenizer: BYTE_TOKENIZER },
    async read({ tokens, logitsFrom, allowed, take }) {
      for (let at = logitsFrom; ; at++) {
        const logits = Float32Array.from(logitsAfter(embedding, shape.width, tokens[at]));
        if (take(nextOf(logits, allowed?.()))) return;
      }
    },
  });
  const onDelta = (piece) => report({ type: "piece", piece });
  report({ type: "event" });
  for await (const line of lines) {
    try {
      const result = await answer(parseJson(line), { isCancelled: () => false, onDelta });
      report({ type: "answer", result });
    } catch ({ code = "WORKER_FAILED", message, fault }) {
      report({ type: "refused", code, message, fault });
    }
  }
}

/** What may follow, as Kit chooses from it. */
function nextOf(logits, bits) {
  const { isTextToken, isStopToken } = BYTE_TOKENIZER;
  const ids = Int32Array.from(logits.keys()).filter((id) =>
    bits ? (bits[id >> 5] >> (id & 31)) & 1 : isTextToken(id) || isStopToken(id),
  );
  const argmax = ids.reduce((best, id) => (logits[id] > logits[best] ? id : best), ids[0] ?? -1);
  const weights = (temperature) => {
    const byToken = logits.map((logit) => Math.exp((logit - logits[argmax]) / temperature));
    const sums = [ids.reduce((sum, id) => sum + byToken[id], 0), ...Array(240).fill(0)];
    return { byToken, sums, tokensOf: () => ids.slice() };
  };
  const logSumExp = () => Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0));
  return { logits, argmax, isDegenerate: false, logSumExp, weights };
}
