import { expect, test } from "vitest";
import { OPTIONS, compile, completions, hoverText } from "./compiler.ts";

const trainer = (options: string) => `
import { createTrainer } from "kit";
createTrainer({ name: "tiny", dataset: { type: "jsonl", path: "data.jsonl" }, ${options} });`;
const whole = (body: string) => `
import { type ErrorCode, type LoraOptions, type TrainerOptions, KitError, createKit, createTrainer, loadModel } from "kit";
${body}
void [KitError, createKit, createTrainer, loadModel];
export {};`;

const RIGHT = whole(`
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const sure = <A, B>(_: Same<A, B>) => {};
const trainer = createTrainer({
  name: "tiny",
  model: { layers: 1, heads: 1, width: 8, context: 32 },
  dataset: { type: "jsonl", path: ["data.jsonl", "more/*.jsonl"] },
  lora: { r: 8, alpha: 16 },
  callbacks: {
    onStarted: ({ job }) => sure<typeof job.status, "queued" | "running" | "completed" | "failed" | "cancelled">(true),
    onLog: ({ step, loss, learningRate, gradNorm, epoch, tokensPerSecond }) => {
      for (const value of [step, loss, learningRate, gradNorm, epoch, tokensPerSecond]) {
        sure<typeof value, number>(true);
      }
    },
    onCheckpoint: async ({ artifacts, infer }) => {
      const { text, finishReason } = await infer({ prompt: "1", temperature: 0.5 });
      sure<typeof text, string>(true);
      sure<typeof finishReason, "stop" | "length" | "toolCalls">(true);
      sure<(typeof artifacts)[0]["kind"], "model" | "adapter">(true);
      sure<(typeof artifacts)[0]["directory"], string>(true);
    },
    onFailed: ({ error }) => {
      sure<typeof error, Error>(true);
      if (error instanceof KitError) sure<typeof error.code, ErrorCode>(true);
    },
    // As short as people write it, whatever it returns.
    onCancelled: ({ job }) => [].push(job.id as never),
  },
});
createKit({ trainer });
const ask = async () => {
  const loaded = await loadModel(".");
  const stream = loaded.stream({ prompt: "1", stop: ["a", "b"], logprobs: 2 });
  for await (const piece of stream) sure<typeof piece, string>(true);
  const { promptTokens, logprobs } = await stream.result;
  sure<typeof promptTokens, number>(true);
  sure<NonNullable<typeof logprobs>[0]["top"][0]["bytes"], number[]>(true);
  const schema = { type: "object", properties: { a: { enum: [1, "b"] } }, required: ["a"] } as const;
  const { value, choices, toolCalls } = await loaded.infer({ prompt: "1", schema });
  sure<typeof value, unknown>(true);
  await loaded.infer({ prompt: "1", schema: { "~standard": { version: 1, vendor: "a", validate() {} } } });
  await loaded.infer({ prompt: "1", toolChoice: { name: "f" } });
  await loaded.infer({ prompt: "1", choices: ["a", "b"] as const });
  return [choices?.[0]?.probability, toolCalls?.[0]?.function.name];
};
void ask;
const model = (model: TrainerOptions["model"]) => model;
const path: string = process.cwd();
[model("kit/small"), model("../base"), model("/base"), model(path)];
const targets = (targetModules: LoraOptions["targetModules"]) => targetModules;
targets(["q_proj", "another_engines_projection", path]);
const least = { name: "tiny", dataset: { type: "jsonl", path: "a" } } as const;
const given: TrainerOptions = { ...least, maxSteps: 5 };
createTrainer(given);
const either = (epochs?: number) => createTrainer({ ...least, ...(epochs ? { numTrainEpochs: epochs } : { maxSteps: 5 }) });
const like = (more: Partial<TrainerOptions>) => createTrainer({ ...given, maxSteps: 4, ...more });
const { jobId } = await trainer.start();
sure<typeof jobId, string>(true);`);

const WRONG: [string, string, RegExp][] = [
  [
    "a misspelt option",
    trainer("maxStep: 5"),
    /^Object literal may only specify known properties, but 'maxStep' does not exist in type 'TrainerOptions<number>'\. Did you mean to write 'maxSteps'\?$/,
  ],
  [
    "steps and epochs",
    trainer("maxSteps: 5, numTrainEpochs: 2"),
    /^Type 'number' is not assignable to type 'undefined'\.$/,
  ],
  [
    "a misspelt error code",
    'import { type KitError } from "kit";\nexport const f = (e: KitError) => e.code === "DIVERGE";',
    /^This comparison appears to be unintentional because the types '.*' and '"DIVERGE"' have no overlap\.$/,
  ],
  [
    "a text for a number",
    trainer('maxSteps: "5"'),
    /^Type 'string' is not assignable to type 'number'\.$/,
  ],
  [
    "a model without its context",
    trainer("model: { layers: 1, heads: 1, width: 8 }"),
    /'context' is missing in type/,
  ],
  ["a rank in letters", trainer('lora: { r: "8" }'), /'string' is not assignable to type 'number'/],
  [
    "one target that is no list",
    trainer('lora: { r: 8, alpha: 1, targetModules: "q_proj" }'),
    /^Type '"q_proj"' is not assignable to type '"all-linear" \| \(.*"q_proj".*\)\[\] \| undefined'\.$/,
  ],
  [
    "no name",
    whole('createTrainer({ dataset: { type: "jsonl", path: "a" } });'),
    /'name' is missing in type .* but required in type 'TrainerOptions.*'\./,
  ],
  [
    "no dataset",
    whole('createTrainer({ name: "tiny" });'),
    /'dataset' is missing in type .* but required in type 'TrainerOptions.*'\./,
  ],
  [
    "another kind of dataset",
    whole('createTrainer({ name: "tiny", dataset: { type: "xls", path: "a" } });'),
    /^Type '"xls"' is not assignable to type '"jsonl" \| "csv" \| "parquet" \| "json" \| undefined'\.$/,
  ],
  [
    "a dataset without a path",
    whole('createTrainer({ name: "tiny", dataset: { type: "jsonl" } });'),
    /'path' is missing in type/,
  ],
  [
    "a misspelt callback",
    trainer("callbacks: { onLogs() {} }"),
    /'onLogs' does not exist in type 'TrainerCallbacks'\. Did you mean to write 'onLog'\?$/,
  ],
  [
    "an argument that a callback does not get",
    trainer("callbacks: { onLog: ({ los }) => void los }"),
    /^Property 'los' does not exist on type 'LogContext'\.$/,
  ],
  [
    "infer where there is none",
    trainer("callbacks: { onLog: ({ infer }) => void infer }"),
    /^Property 'infer' does not exist on type 'LogContext'\.$/,
  ],
  [
    "infer without a prompt",
    trainer(
      "callbacks: { onCheckpoint: async ({ infer }) => void (await infer({ maxTokens: 3 })) }",
    ),
    /is not assignable to parameter of type 'InferRequest'/,
  ],
  [
    "infer with a prompt and messages",
    trainer(
      'callbacks: { onCheckpoint: async ({ infer }) => void (await infer({ prompt: "1", messages: [] })) }',
    ),
    /is not assignable to parameter of type 'InferRequest'/,
  ],
  [
    "a role that there is not",
    trainer(
      'callbacks: { onCheckpoint: async ({ infer }) => void (await infer({ messages: [{ role: "bot", content: "" }] })) }',
    ),
    /^Type '"bot"' is not assignable to type '"system" \| "developer" \| "user" \| "assistant" \| "tool"'\.$/,
  ],
  [
    "options for a trainer",
    whole('createKit({ trainer: { name: "tiny" } });'),
    /is missing the following properties from type 'Trainer': start, wait, cancel/,
  ],
  [
    "a misspelt trainer",
    whole("createKit({ trainr: undefined });"),
    /'trainr' does not exist in type .*Did you mean to write 'trainer'\?$/,
  ],
];

const [ofRight, ...ofWrong] = compile([RIGHT, ...WRONG.map(([, source]) => source)]);

test("callbacks, infer and jobs know their types", () => {
  expect(ofRight).toEqual([]);
});

test("a project without strict checks may set either length", () => {
  const sources = ["maxSteps: 5", "numTrainEpochs: 2", "seed: 1"].map(trainer);
  expect(compile(sources, { ...OPTIONS, strict: false })).toEqual([[], [], []]);
});

test("what is wrong is one error that names it", () => {
  WRONG.forEach(([name, , message], i) => {
    expect(ofWrong[i], name).toEqual([expect.stringMatching(message)]);
  });
});

test.each([
  ["models", 'model: "|"', ["kit/nano", "kit/small"]],
  [
    "an adapter's targets",
    'lora: { r: 8, alpha: 1, targetModules: ["|"] }',
    ["down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"],
  ],
])("an editor offers the names of %s", (_, options, names) => {
  expect(completions(trainer(options)).sort()).toEqual(names);
});

// tests/types/documentation.test.ts reads the words of every part.
test.each([
  [
    "an option",
    trainer("|maxSteps: 5"),
    /^Optimizer steps, unless `numTrainEpochs` is set\. Default 400\./,
  ],
  [
    "an option that takes another's place",
    trainer("|numTrainEpochs: 2"),
    /^Passes over the dataset, instead of `maxSteps`/,
  ],
  [
    "a callback",
    trainer("callbacks: { |onLog() {} }"),
    /^Called at the first two steps, .*`loggingSteps`/,
  ],
  [
    "what a callback gets",
    trainer("callbacks: { onLog: ({ |loss }) => loss }"),
    /nats; NaN when it is not finite/,
  ],
  [
    "infer's options",
    trainer('callbacks: { onCheckpoint: ({ infer }) => infer({ prompt: "1", |topP: 1 }) }'),
    /Default 1/,
  ],
])("an editor explains %s", (_, source, what) => {
  expect(hoverText(source)).toMatch(what);
});
