import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { jsonl } from "../engines/embedded/scratch.ts";
import { createTinyProject, runKit, startKit, tinySource } from "../kit.ts";
import { saveToolModel } from "../toolModel.ts";

const QUESTION = { role: "user", content: "q" };
const ANSWER = { role: "assistant", content: "a" };

test("kit check prints what kit start would do, and the first row as the model sees it", async () => {
  const messages = [
    { role: "system", content: "\u001b[31m日本\n<|eos|>" },
    { role: "user", content: "q" },
    { role: "assistant", content: "a1" },
    { role: "user", content: "r" },
    { role: "assistant", content: "a2" },
  ];
  const long = { prompt: "p".repeat(60), completion: "x" };
  const rows = [{ messages }, { prompt: "1", completion: "2" }, long];
  const model = "model: { layers: 1, heads: 1, width: 8, context: 48 },";
  const project = createTinyProject(tinySource({ options: model }), {
    "data.jsonl": rows.map((row) => JSON.stringify(row)).join("\n"),
  });
  const { code, stdout, stderr } = await runKit(project, ["check"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const measured = stdout
    .replace(/^(memory) \d+ MiB$/m, "$1 n MiB")
    .replace(/ about \d+s /, " n s ");
  expect(measured).toBe(`\
would train llama-8x1
  parameters  3,160
  data        data.jsonl
  rows        2 of {messages} | {prompt, completion}
  tokens      41
  steps       4 with 2 rows each
  epochs      4
warning: 1 of 3 rows skipped: the prompt leaves no room for an answer in 48 tokens
  to keep them: model: { layers: 1, heads: 1, width: 8, context: 66 }
trains on 8 tokens per epoch
longest row: 66 tokens
formats 1 of {messages}, 2 of {prompt, completion}
lengths 7 to 66 tokens, median 36, p95 66
memory n MiB
time n s on this machine
first row
  reads   <|bos|><|system|>\\u001b[31m日本\\n\\u003c|eos|><|eos|><|user|>q<|eos|><|assistant|>
  learns  a1<|eos|>
  reads   <|user|>r<|eos|><|assistant|>
  learns  a2<|eos|>
`);
  expect(existsSync(join(project, ".kit/jobs"))).toBe(false);
});

test("kit check exits with 1 and the sentence with which the training would fail", async () => {
  const project = createTinyProject(undefined, { "data.jsonl": '{"text":"x"}\n{oops' });
  expect(await runKit(project, ["check"])).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining(
      `kit: ${project}/data.jsonl:2:2: not valid JSON: a word without quotes. Write `,
    ),
  });
  writeFileSync(join(project, "data.jsonl"), '{"text":"x"}');
  const engine = `engine: { name: "liar", prepare: (x: object) => x, check: async () => ({}),
    train() {}, load() {} } as never,`;
  writeFileSync(join(project, "src/kit/index.ts"), tinySource({ options: engine }));
  const { code, stderr } = await runKit(project, ["check"]);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(
      /^kit: The engine liar reported \{\}, which is not a valid training check/,
    ),
  });
});

test("kit check reads what each objective learns from, and says what a row of another is", async () => {
  const pair = { prompt: "q", chosen: "good", rejected: "bad" };
  const source = (type: string) => tinySource({ options: `objective: { type: "${type}" },` });
  const project = createTinyProject(source("dpo"), { "data.jsonl": jsonl([pair]) });
  const { stdout, stderr } = await runKit(project, ["check", "--loss"]);
  expect(stdout).toContain("rows        1 of {prompt, chosen, rejected}");
  expect(stdout).toMatch(/learns {2}good<\|eos\|>\n.*\n {2}avoids {2}bad<\|eos\|>/);
  expect(stderr).toContain("no hardest rows: before training, all rows have the same loss");
  writeFileSync(join(project, "src/kit/index.ts"), source("kto"));
  expect(await runKit(project, ["check"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      `data.jsonl:1: two answers, which the objective "dpo" learns from, not "kto". Write {"prompt"`,
    ),
  });
});

test("kit check warns where all answers are judged alike, and calls no two judgements of one answer twice", async () => {
  const judged = (label: boolean) => ({ prompt: "q", completion: "a", label });
  const source = tinySource({ options: 'objective: { type: "kto" },' });
  const project = createTinyProject(source, { "data.jsonl": jsonl([judged(false), judged(true)]) });
  const both = await runKit(project, ["check"]);
  expect(both.stdout).toMatch(/avoids {2}a<\|eos\|>/);
  expect(both.stdout).not.toContain("duplicates");
  expect(both.stderr).not.toContain("warning");
  writeFileSync(join(project, "data.jsonl"), jsonl([judged(true), judged(true)]));
  const good = await runKit(project, ["check"]);
  expect(good.stdout).toContain("duplicates: 1 row repeats an earlier one");
  expect(good.stderr).toContain("data.jsonl is labelled good: add some that are bad\n");
});

test("an answer with OpenAI's weight 0 is not learned; another weight, and a row without a learned answer, are refused", async () => {
  const rows = [
    { messages: [QUESTION, { ...ANSWER, weight: 1 }] },
    { messages: [QUESTION, { ...ANSWER, weight: 0 }, QUESTION, ANSWER] },
  ];
  const project = createTinyProject(undefined, { "data.jsonl": jsonl(rows) });
  const learned = async () => {
    const { code, stdout } = await runKit(project, ["check"]);
    expect(code).toBe(0);
    return /^trains on (\S+) tokens/m.exec(stdout)?.[1];
  };
  // Two of three answers, each with the token that ends it.
  expect(await learned()).toBe(String(2 * (ANSWER.content.length + 1)));
  const refusals = [
    [0.5, 'messages[1] has a "weight" of 0.5: write 0 or 1. Write '],
    [0, 'every answer has the "weight" 0. Write '],
  ] as const;
  for (const [weight, said] of refusals) {
    const messages = [QUESTION, { ...ANSWER, weight }];
    writeFileSync(join(project, "data.jsonl"), jsonl([{ messages }]));
    for (const command of ["check", "start"]) {
      const { code, stderr } = await runKit(project, [command]);
      expect({ code, stderr }).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`${project}/data.jsonl:1: ${said}`),
      });
    }
  }
});

test("a row with the weight 0 is refused, as its answers would be learned", async () => {
  const rows = [
    { messages: [QUESTION, ANSWER], weight: 1 },
    { prompt: "q", completion: "a", weight: 0 },
  ];
  const project = createTinyProject(undefined, { "data.jsonl": jsonl(rows) });
  const { code, stderr } = await runKit(project, ["check"]);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining(
      `${project}/data.jsonl:2: the row has the "weight" 0: remove it, or set`,
    ),
  });
});

test("rows that a check has made are named by their own places, and answers of no kind by none", async () => {
  const path = "data.csv";
  const options = `dataset: { path: "${path}" }, evalDataset: [{ prompt: "q\\n2", completion: "2" }],`;
  const project = createTinyProject(tinySource({ options }), {
    [path]: 'prompt,completion\n1,1\n"q\n2",2\n1,1\n',
  });
  const { stdout } = await runKit(project, ["check", "--loss"]);
  expect(stdout).toContain(`
duplicates: 1 row repeats an earlier one; it is data.csv:5, a copy of data.csv:2
warning: 1 row is in both datasets; it is evalDataset, row 1, a copy of data.csv:3
  remove them from one, or evaluations measure memorization
memory `);
  expect([...stdout.matchAll(/^loss \S+ of (.*)$/gm)].map(([, place]) => place).toSorted()).toEqual(
    [2, 3, 5].map((line) => `data.csv:${line}`),
  );
  writeFileSync(join(project, path), "text\nabc\ndef\n");
  expect((await runKit(project, ["check"])).stdout).not.toContain("answers");
});

const ROWS_MADE = `async function* made() {
  yield { prompt: "1", completion: "1" };
  console.log("made one");`;

test.each([
  ["ends the process", "process.exit(0)"],
  ["awaits what never settles", "await new Promise(() => {})"],
])("a check whose code %s fails with a sentence, and leaves none of its rows", async (_, ends) => {
  const before = `${ROWS_MADE} ${ends}; }`;
  const project = createTinyProject(tinySource({ before, options: "dataset: made," }));
  const rows = join(project, "rows");
  mkdirSync(rows);
  const { code, stderr } = await runKit(project, ["check"], { TMPDIR: rows });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `kit: The process ended with exit code 0 before the check did. Remove the process.exit(), or the promise that never settles, from the project's code.\n`,
  });
  expect(readdirSync(rows)).toEqual([]);
});

test.each(["SIGINT", "SIGTERM"] as const)(
  "a check that %s ends leaves none of its rows",
  async (signal) => {
    const before = `${ROWS_MADE} await new Promise((done) => setTimeout(done, 1e6)); }`;
    const project = createTinyProject(tinySource({ before, options: "dataset: made," }));
    const rows = join(project, "rows");
    mkdirSync(rows);
    const { child, printed, ended } = startKit(project, ["check"], { TMPDIR: rows });
    await printed(/made one/);
    expect(readdirSync(rows)).toHaveLength(1);
    child.kill(signal);
    expect(await ended).toMatchObject({ code: 130, stderr: "" });
    expect(readdirSync(rows)).toEqual([]);
  },
);

test("a row whose values are nested too deeply is named", async () => {
  const depth = 5_000;
  const given = `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`;
  const call = `{"type":"function","function":{"name":"f","arguments":${given}}}`;
  const row = `{"messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[${call}]}]}`;
  const options = 'dataset: { path: "data.jsonl", map: (row) => row as never },';
  const project = createTinyProject(tinySource({ options }), { "data.jsonl": row });
  expect(await runKit(project, ["check"])).toMatchObject({
    code: 1,
    stderr: `kit: ${project}/data.jsonl:1: values are nested too deeply. Make them flatter.\n`,
  });
});

test("keys that Kit does not read are counted in one note for each dataset", async () => {
  const rows = [
    {
      messages: [
        { ...QUESTION, name: "Ann", weight: 0 },
        { ...ANSWER, name: "Bo", refusal: null },
      ],
      id: 1,
    },
    { prompt: "q", completion: "a", id: 2, tools: [], text: "t" },
    { messages: [QUESTION, { ...ANSWER, weight: 1, tool_calls: [] }], id: null },
  ];
  const project = createTinyProject(
    tinySource({ options: 'evalDataset: { type: "jsonl", path: "held.jsonl" },' }),
    { "data.jsonl": jsonl(rows), "held.jsonl": jsonl([{ text: "t", "\u001b[31mid\u009b": 1 }]) },
  );
  const notes = `\
ignoring keys in ${project}/data.jsonl: "id" of 2 rows, "text" of 1 row
ignoring keys in ${project}/held.jsonl: "\\u001b[31mid\\u009b" of 1 row
`;
  expect(await runKit(project, ["check"])).toMatchObject({ code: 0, stderr: notes });
  const { code, stdout } = await runKit(project, ["start"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(notes) });
});

test("a check tells repeated and leaked rows, kinds of answers and JSON that does not parse", async () => {
  const rows = [
    ...["yes", "no", "yes", "yes", "no", "yes"].map((completion, n) => ({
      prompt: `${n}`,
      completion,
    })),
    { prompt: "0", completion: "yes" },
  ];
  const options = 'evalDataset: { path: "held.jsonl" },';
  const project = createTinyProject(tinySource({ options }), {
    "data.jsonl": jsonl(rows),
    "held.jsonl": jsonl([{ prompt: "9", completion: "no" }, rows[2]!]),
  });
  const { code, stdout } = await runKit(project, ["check"]);
  expect(code).toBe(0);
  expect(stdout).toContain(`
lengths 8 to 9 tokens, median 9, p95 9
duplicates: 1 row repeats an earlier one; it is data.jsonl:7, a copy of data.jsonl:1
warning: 1 row is in both datasets; it is held.jsonl:2, a copy of data.jsonl:3
  remove them from one, or evaluations measure memorization
answers 5 × yes, 2 × no
`);
  writeFileSync(
    join(project, "data.jsonl"),
    jsonl(['{"a":1}', "{", "[]", "7"].map((completion, n) => ({ prompt: `${n}`, completion }))),
  );
  expect((await runKit(project, ["check"])).stdout).toContain(
    "\njson 3 answers: 1 of them does not parse, the first at data.jsonl:2\n",
  );
  const measured = (await runKit(project, ["check", "--loss"])).stdout;
  const losses = [...measured.matchAll(/^loss (\d\.\d{3}) of data\.jsonl:[1-4]\n  reads /gm)];
  expect(losses).toHaveLength(4);
  expect(losses.map(([, loss]) => Number(loss))).toEqual(
    losses.map(([, loss]) => Number(loss)).toSorted((a, b) => b - a),
  );
  const whole = await runKit(project, ["check", "--json"]);
  expect(JSON.parse(whole.stdout)).toMatchObject({
    started: { rows: 4 },
    dataset: {
      forms: { "{prompt, completion}": 4 },
      tokens: { least: 7, most: 13 },
      json: { answers: 3, broken: 1, first: join(project, "data.jsonl:2") },
    },
  });
});

test("kit check and kit start say how a model without a chat template reads conversations", async () => {
  const options = 'model: "./base", maxLength: 64, maxSteps: 1,';
  const project = createTinyProject(tinySource({ options }), {
    "data.jsonl": jsonl([{ prompt: "red is ", completion: "a color" }]),
  });
  saveToolModel(join(project, "base"));
  const settings = join(project, "base/tokenizer_config.json");
  const { chat_template: template, ...others } = JSON.parse(readFileSync(settings, "utf8")) as {
    chat_template: string;
  };
  writeFileSync(settings, JSON.stringify(others));
  const note = `\
the model has no chat template, so a row's contents are joined, with the end token after each answer
  if it was trained with a template, copy that as chat_template.jinja into the model's folder
`;
  const checked = await runKit(project, ["check"]);
  expect(checked).toMatchObject({ code: 0, stderr: note });
  expect(checked.stdout).toContain("reads   red is \n  learns  a color<|im_end|>\n");
  expect((await runKit(project, ["start"])).stdout).toContain(note);
  writeFileSync(join(project, "data.jsonl"), jsonl([{ text: "red is a color" }]));
  expect(await runKit(project, ["check"])).toMatchObject({ code: 0, stderr: "" });
  writeFileSync(join(project, "data.jsonl"), jsonl([{ prompt: "red is ", completion: "a color" }]));
  writeFileSync(join(project, "base/chat_template.jinja"), template);
  expect(await runKit(project, ["check"])).toMatchObject({ code: 0, stderr: "" });
});

test("kit check names how long the training takes, and the share of it that evaluating does", async () => {
  const options = `evalDataset: { path: "data.jsonl" }, maxSteps: 10_000_000, saveSteps: 100_000,
    evaluate: { metrics: { right: () => true } },`;
  const project = createTinyProject(tinySource({ options }));
  const { code, stdout, stderr } = await runKit(project, ["check"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(
    /\ntime about \d.* on this machine, up to \d.* \(\d+ %\) of it evaluating\n/,
  );
  const json = await runKit(project, ["check", "--json"]);
  const { time } = JSON.parse(json.stdout) as { time: Record<string, number> };
  expect(time.seconds).toBeGreaterThan(time.evaluatingSeconds!);
  expect(time.evaluatingSeconds).toBeGreaterThan(0);
  // Nothing was trained that stays.
  expect(readdirSync(project).toSorted()).toEqual([".kit", "data.jsonl", "src"]);
  expect(readdirSync(join(project, ".kit"))).toEqual(["build"]);
});

test("kit check of an engine that cannot train says so, and all else", async () => {
  const project = createTinyProject();
  const report = `{ started: { model: "m", parameters: 1, rows: 8, maxSteps: 4, tokens: 8, epochs: 1 }, learnedTokens: 1,
    longestRow: 1, memoryBytes: 2 ** 50, onGpu: true, firstRow: [{ text: "a", isLearned: true, isSpecial: false }] }`;
  const engine = `{ name: "mine", prepare: (asked: object) => ({ ...asked, gradientAccumulationSteps: 1 }),
    check: async () => (${report}), train: () => Promise.reject(new Error("no GPU")), load: () => {} } as never`;
  writeFileSync(join(project, "src/kit/index.ts"), tinySource({ options: `engine: ${engine},` }));
  const { code, stdout, stderr } = await runKit(project, ["check"]);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: "timing two training steps …\ncould not estimate the training time: no GPU\n",
  });
  expect(stdout).toMatch(/\nmemory 1,073,741,824 MiB of the GPU\nfirst row\n {2}learns {2}a\n$/);
});

test("kit check does not say that an answer parses which is learned without its end", async () => {
  const rows = [{ prompt: "1", completion: JSON.stringify({ a: "long".repeat(20) }) }];
  rows.push({ prompt: "2", completion: '{"a":1}' });
  const project = createTinyProject(undefined, { "data.jsonl": jsonl(rows) });
  const { stdout } = await runKit(project, ["check"]);
  expect(stdout).toContain(
    "\njson 2 answers: all parse (checked in full; training truncates 1 row)\n",
  );
});
