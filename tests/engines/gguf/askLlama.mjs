// Asks llama.cpp, through node-llama-cpp, about a GGUF file: askLlama.mjs <node-llama-cpp>, an `Asked` on stdin.
// Prints its `Told` as JSON.
import { text } from "node:stream/consumers";

const { getLlama } = await import(process.argv[2]);
const {
  file,
  lora,
  texts = [],
  sequences = [],
  chats = [],
} = JSON.parse(await text(process.stdin));

const build = { gpu: false, build: "never", skipDownload: true };
const llama = await getLlama({ ...build, maxThreads: 1, logLevel: "error" });
const model = await llama.loadModel({ modelPath: file, gpuLayers: 0 });
const told = {
  ids: texts.map((words) => [...model.tokenize(words, true)]),
  texts: texts.map((words) => model.detokenize(model.tokenize(words, true), true)),
  bos: model.tokens.bos,
  addsBos: model.tokens.shouldPrependBosToken,
  logits: [],
  answers: [],
};
if (sequences.length + chats.length > 0) {
  const contextSize = Math.max(
    32,
    ...sequences.map((ids) => ids.length + 1),
    ...chats.map(({ ids, most }) => ids.length + most),
  );
  const context = await model.createContext({
    ...{ contextSize, threads: 1, flashAttention: false },
    ...(lora && { lora: { adapters: [{ filePath: lora }] } }),
  });
  const sequence = context.getSequence();
  for (const ids of sequences) {
    await sequence.clearHistory();
    const asked = ids.map((id) => [id, { generateNext: { logits: true } }]);
    const found = await sequence.controlledEvaluate(asked);
    told.logits.push(found.map(({ next }) => inOrder(next.logits)));
  }
  for (const { ids, most } of chats) {
    await sequence.clearHistory();
    const answer = [];
    for await (const id of sequence.evaluate(ids, { temperature: 0, yieldEogToken: true })) {
      answer.push(id);
      if (model.isEogToken(id) || answer.length === most) break;
    }
    told.answers.push(answer);
  }
}
process.stdout.write(JSON.stringify(told), () => process.exit());

/** By id. */
function inOrder(logits) {
  const all = [];
  for (const [id, logit] of logits) all[id] = logit;
  return all;
}
