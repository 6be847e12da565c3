// Asks llama.cpp, through node-llama-cpp, about a GGUF file: askLlama.mjs <node-llama-cpp>, an `Asked` on stdin.
// Prints its `Told` as JSON.
import { text } from "node:stream/consumers";

const { LlamaChatSession, getLlama } = await import(process.argv[2]);
const {
  file,
  lora,
  texts = [],
  sequences = [],
  questions = [],
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
if (sequences.length + questions.length > 0) {
  const context = await model.createContext({
    ...{ contextSize: 256, threads: 1, flashAttention: false },
    ...(lora && { lora: { adapters: [{ filePath: lora }] } }),
  });
  const contextSequence = context.getSequence();
  for (const ids of sequences) {
    await contextSequence.clearHistory();
    const asked = ids.map((id) => [id, { generateNext: { logits: true } }]);
    const found = await contextSequence.controlledEvaluate(asked);
    told.logits.push(found.map(({ next }) => inOrder(next.logits)));
  }
  for (const question of questions) {
    await contextSequence.clearHistory();
    const session = new LlamaChatSession({ contextSequence });
    // Without a system message of node-llama-cpp's.
    session.setChatHistory([]);
    const options = { temperature: 0, maxTokens: 100, trimWhitespaceSuffix: false };
    const { responseText, stopReason } = await session.promptWithMeta(question, options);
    told.answers.push({ text: responseText, stopReason });
    session.dispose({ disposeSequence: false });
  }
}
process.stdout.write(JSON.stringify(told), () => process.exit());

/** By id. */
function inOrder(logits) {
  const all = [];
  for (const [id, logit] of logits) all[id] = logit;
  return all;
}
