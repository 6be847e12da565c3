import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CHATML, LLAMA3, saveBaseModel } from "../baseModel.ts";
import { jsonl } from "../engines/embedded/scratch.ts";
import { CLI, createTinyProject, runKit, tinySource } from "../kit.ts";

const LLAMA = {
  specials: [
    ...["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>"],
    "<|eot_id|>",
  ],
  ...{ template: LLAMA3, bos: "<|begin_of_text|>", tokenizer: { eos_token: "<|eot_id|>" } },
};
const QWEN = {
  specials: ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
  ...{ template: CHATML, tokenizer: { eos_token: "<|im_end|>" } },
};
const PROMPT =
  "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n";

/** What `kit check` prints of rows that a model would learn. */
async function check(model: Parameters<typeof saveBaseModel>[1], rows: object[], options = "") {
  const source = tinySource({ options: `model: "./model", ${options}` });
  const project = createTinyProject(source.replace(/model: \{.*\},/, ""), {
    "data.jsonl": jsonl(rows),
  });
  saveBaseModel(join(project, "model"), model);
  const { code, stdout, stderr } = await runKit(project, ["check"]);
  expect(code).toBe(0);
  const row = stdout.slice(stdout.indexOf("first row\n") + "first row\n".length).split("\n");
  return { row: row.map((line) => line.trim()).filter(Boolean), stderr };
}

const shown = (text: string) => text.replaceAll("\n", "\\n");

test("a text that was rendered before has its beginning and its end once", async () => {
  const { row, stderr } = await check(LLAMA, [{ text: `${PROMPT}Hello<|eot_id|>` }]);
  const [begin, ...rest] = `${PROMPT}Hello<|eot_id|>`.split(/(?<=<\|begin_of_text\|>)/);
  expect(row).toEqual([`reads   ${begin}`, `learns  ${shown(rest.join(""))}`]);
  expect(stderr).toBe("");
  const chatml = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>\n";
  const other = await check(QWEN, [{ text: chatml }]);
  expect(other.row.join("").replaceAll(/(reads|learns) {2,3}/g, "")).toBe(shown(chatml));
});

test("a prompt that was rendered before is read as it is, and its answer learned with the end that it has", async () => {
  const whole = [`reads   ${shown(PROMPT)}`, "learns  Hello<|eot_id|>"];
  for (const completion of ["Hello<|eot_id|>", "Hello"]) {
    const { row, stderr } = await check(LLAMA, [{ prompt: PROMPT, completion }]);
    expect(row).toEqual(whole);
    expect(stderr).toMatch(
      /^the prompts of 1 of 1 row are already rendered by a chat template: they are read as they are, without the model's own\n {2}the first is \S+data\.jsonl:1\n$/,
    );
  }
  // Without what begins any text, as TRL advises.
  const begun = PROMPT.replace("<|begin_of_text|>", "");
  expect((await check(LLAMA, [{ prompt: begun, completion: "Hello<|eot_id|>" }])).row).toEqual(
    whole,
  );
  // As the same turns would be.
  const plain = await check(LLAMA, [{ prompt: "Hi", completion: "Hello" }]);
  expect(plain).toEqual({ row: whole, stderr: "" });
  // So is that of a pair.
  const pair = { prompt: PROMPT, chosen: "Hello<|eot_id|>", rejected: "No<|eot_id|>" };
  const { row } = await check(LLAMA, [pair], 'objective: { type: "dpo" },');
  expect(row).toEqual([...whole, whole[0], "avoids  No<|eot_id|>"]);
});

test("a template of words alone is told from what somebody asks", async () => {
  const template =
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]{% else %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}";
  const model = {
    specials: ["<s>", "</s>"],
    template,
    bos: "<s>",
    tokenizer: { eos_token: "</s>" },
  };
  const rows = [
    { prompt: "[INST] Hi [/INST]", completion: " Hello" },
    { prompt: "What is [INST]?", completion: "A mark" },
  ];
  const { row, stderr } = await check(model, rows);
  expect(row).toEqual(["reads   <s>[INST] Hi [/INST]", "learns   Hello</s>"]);
  expect(stderr).toContain("the prompts of 1 of 2 rows are already rendered");
  expect(stderr).not.toContain("warning");
});

test("special tokens inside a message are warned of, with the row", async () => {
  const rows = [
    { prompt: "Hi", completion: "Hello<|eot_id|>" },
    { prompt: "Be kind. <|start_header_id|>user", completion: "Hello" },
  ];
  const { stderr } = await check(LLAMA, rows);
  expect(stderr).toMatch(
    /^warning: 1 of 2 rows have a special token of the model inside a message, although the chat template adds these itself\n {2}the first is <\|start_header_id\|> in \S+data\.jsonl:2\n {2}remove it, or write what it separates as "messages"; a rendered prompt is read as it is if it begins as the template does\n$/,
  );
});

test.each([
  [QWEN, { text: PROMPT }, "<|begin_of_text|>"],
  [QWEN, { prompt: PROMPT, completion: "Hello<|eot_id|>" }, "<|begin_of_text|>"],
  [QWEN, { prompt: "<start_of_turn>user\nHi", completion: "Hello" }, "<start_of_turn>"],
  [QWEN, { prompt: "[INST] Hi [/INST]", completion: "Hello" }, "[INST]"],
  [LLAMA, { prompt: "Hi", completion: "Hello<|im_end|>" }, "<|im_end|>"],
] as const)(
  "another model's special tokens, which are read as ordinary text, are warned of: %#",
  async (model, row, token) => {
    const { stderr } = await check(model, [{ prompt: "1", completion: "2" }, row]);
    expect(stderr).toContain(
      "warning: 1 of 2 rows have a special token of another model's chat template, which this model reads as plain text\n",
    );
    expect(stderr).toMatch(/^ {2}the first is (\S+) in \S+data\.jsonl:2$/m);
    expect(/the first is (\S+) in/.exec(stderr)?.[1]).toBe(token);
  },
);

test("kit infer reads a rendered prompt as it is", async () => {
  const project = createTinyProject();
  saveBaseModel(join(project, "model"), LLAMA);
  const ask = async (prompt: string) => {
    writeFileSync(join(project, "prompt.txt"), prompt);
    return runKit(project, ["infer", "./model", prompt, "--max-tokens", "12"]);
  };
  const [rendered, plain] = [await ask(PROMPT), await ask("Hi")];
  expect(rendered.code).toBe(0);
  expect(rendered.stdout).toBe(plain.stdout);
});

function inferIn(cwd: string, args: string[], input: string) {
  const words = [CLI, "infer", "./model", "--max-tokens", "12", ...args];
  return spawnSync(process.execPath, words, { cwd, input, encoding: "utf8" });
}

/** As Qwen3's, in short. */
const THINKING = CHATML.replace(
  "assistant\n{% endif %}",
  "assistant\n{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}",
);
/** Writes what it is told. */
const KNOWING = `{% if mood is defined %}<|im_start|>{{ mood }} {{ count }}<|im_end|>{% endif %}${CHATML}`;
const OFF = '{"enable_thinking":false}';

test("variables of the chat template reach it, by the flag and in a row, which comes first", () => {
  const project = createTinyProject();
  saveBaseModel(join(project, "model"), { ...QWEN, template: THINKING });
  const infer = (args: string[], input = "") => {
    const ran = inferIn(project, args, input);
    expect(ran).toMatchObject({ status: 0, stderr: "" });
    return ran.stdout;
  };
  const opened = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n";
  const [thinks, not] = [infer([opened]), infer([`${opened}<think>\n\n</think>\n\n`])];
  expect(thinks).not.toBe(not);
  expect(infer(["Hi"])).toBe(thinks);
  expect(infer(["Hi", "--chat-template-kwargs", OFF])).toBe(not);
  const messages = [{ role: "user", content: "Hi" }];
  const kwargs = (value: unknown) => ({ chat_template_kwargs: { enable_thinking: value } });
  const rows = [
    { prompt: "Hi" },
    { prompt: "Hi", ...kwargs(true) },
    { messages, ...kwargs(false) },
    { messages, ...kwargs(true) },
    { messages, chat_template_kwargs: null },
  ];
  const answers = infer(["--jsonl", "--chat-template-kwargs", OFF], jsonl(rows))
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { answer: string }).answer);
  const [off, on] = [not, thinks].map((text) => text.trim());
  expect(answers.map((text) => text.trim())).toEqual([off, on, off, on, off]);
});

test("variables of the chat template reach it in a row that is learned, in each form of rows", async () => {
  const model = { ...QWEN, template: KNOWING };
  const kwargs = { chat_template_kwargs: { mood: "calm", count: 2 ** 53 } };
  const written = `<|im_start|>calm ${2 ** 53}<|im_end|>`;
  const user = { role: "user", content: "Hi" };
  const messages = [user, { role: "assistant", content: "Hello" }];
  for (const [row, options] of [
    [{ messages }, ""],
    [{ prompt: "Hi", completion: "Hello" }, ""],
    [{ system: undefined, conversations: messages }, ""],
    [{ prompt: "Hi", chosen: "Hello", rejected: "No" }, 'objective: { type: "dpo" },'],
    [{ prompt: [user], completion: "Hello", label: true }, 'objective: { type: "kto" },'],
  ] as const) {
    const one = await check(model, [{ ...row, ...kwargs }], options);
    expect(one.row.join("\n")).toContain(written);
    expect(one.stderr).not.toContain("chat_template_kwargs");
    const none = await check(model, [{ ...row, chat_template_kwargs: null }], options);
    expect(none.row.join("\n")).not.toContain("calm");
  }
});

test.each([
  [{ text: "Hi", chat_template_kwargs: { a: 1 } }, 'stands beside a "text"'],
  [{ prompt: "Hi", completion: "a", chat_template_kwargs: [1] }, "must be an object, such as"],
  [{ prompt: "Hi", completion: "a", chat_template_kwargs: { tools: [] } }, 'has "tools", which'],
])("wrong variables of a chat template in a row are refused: %j", async (row, message) => {
  const project = createTinyProject(tinySource(), { "data.jsonl": jsonl([row]) });
  const { code, stderr } = await runKit(project, ["check"]);
  expect(code).toBe(1);
  expect(stderr).toContain(`data.jsonl:1: "chat_template_kwargs" ${message}`);
});

test.each([
  [
    "{oops",
    /^error: .*'--chat-template-kwargs <json>' argument '\{oops' is invalid\. It is not valid JSON: /,
  ],
  ["[]", /It must be an object, such as \{"enable_thinking":false\}\.$/m],
  ['{"tools":[]}', /It has "tools", which is not a chat template variable\.$/m],
])("wrong variables of a chat template are told: %s", async (given, message) => {
  const project = createTinyProject();
  const { code, stderr } = await runKit(project, [
    ...["infer", "./model", "Hi", "--chat-template-kwargs", given],
  ]);
  expect(code).not.toBe(0);
  expect(stderr).toMatch(message);
});

test("what the model's chat template leaves out of a question is refused, in a row by its line", () => {
  const project = createTinyProject();
  const template = CHATML.replace(
    "{% for m in messages %}",
    "$&{% if m.role != 'system' %}",
  ).replace("{% endfor %}", "{% endif %}$&");
  saveBaseModel(join(project, "model"), { ...QWEN, template });
  const user = { role: "user", content: "2 + 2?" };
  const rows = [
    { messages: [{ role: "system", content: "Be short." }, user] },
    { messages: [user, { role: "assistant", content: "4", thinking: "Four." }, user] },
    { messages: [user] },
  ];
  const { status, stdout, stderr } = inferIn(project, ["--jsonl"], jsonl(rows));
  expect(status).toBe(1);
  expect(stderr.split("\n").slice(0, 2)).toEqual([
    "kit: line 1: The model's chat template leaves out the system message in messages[0]: write it in the first user message.",
    'kit: line 2: The model\'s chat template leaves out "thinking" in messages[1]: write it in "content", or leave it out.',
  ]);
  expect(stdout.split("\n").map((line) => line.includes('"answer"'))).toEqual([
    false,
    false,
    true,
    false,
  ]);
});

test("what the model's chat template leaves out of a message is warned of", async () => {
  const rows = [
    {
      messages: [
        { role: "user", content: "2 + 2?" },
        { role: "assistant", thinking: "Four.", content: "4" },
      ],
    },
  ];
  const warning = /^warning: the model's chat template leaves out "thinking" in 1 of 1 row\n/;
  expect((await check(QWEN, rows)).stderr).toMatch(warning);
  const template = CHATML.replace("{{ m.content", "{{ m.thinking }}$&");
  const { row, stderr } = await check({ ...QWEN, template }, rows);
  expect(row).toContain("learns  Four.4<|im_end|>");
  expect(stderr).toBe("");
});
