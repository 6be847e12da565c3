import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTinyProject, runKit, tinySource } from "../kit.ts";

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
  expect(stdout.replace(/^(memory) \d+ MiB$/m, "$1 n MiB")).toBe(`\
would train llama-8x1
  parameters  3,160
  data        data.jsonl
  rows        2 of {messages} | {prompt, completion}
  tokens      41
  steps       4 with 2 rows each
  passes      4 over the data
warning: 1 of 3 rows left out: no answer fits 48 tokens
  to keep them: model: { layers: 1, heads: 1, width: 8, context: 66 }
learned 8 tokens of each pass
longest 66 tokens in a row
memory n MiB
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
    stderr: expect.stringContaining(`kit: ${project}/data.jsonl:2: not valid JSON. Write `),
  });
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
