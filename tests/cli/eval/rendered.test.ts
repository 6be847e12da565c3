import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CHATML, saveBaseModel } from "../../baseModel.ts";
import { jsonl } from "../../engines/embedded/scratch.ts";
import { createTinyProject, runKit, tinySource } from "../../kit.ts";

const PROMPT = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n";

test("an answer is compared with one that was rendered before without the token that ends it", async () => {
  const options = `model: "./model", evalDataset: { path: "held.jsonl" }, maxSteps: 40, saveSteps: 40,
    learningRate: 0.02, evaluate: { metrics: { same: ({ output, expected }: Answered) => output === expected } },`;
  const source = tinySource({ options, before: 'import type { Answered } from "kit";' });
  const rows = ["Hello<|im_end|>", "Hello<|im_end|>\n"].map((completion) => ({
    prompt: PROMPT,
    completion,
  }));
  const project = createTinyProject(source.replace(/model: \{.*\},/, ""), {
    "data.jsonl": jsonl(rows),
    "held.jsonl": jsonl(rows),
  });
  saveBaseModel(join(project, "model"), {
    specials: ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
    ...{ template: CHATML, tokenizer: { eos_token: "<|im_end|>" } },
  });
  const { stdout } = await runKit(project, ["start"]);
  expect(stdout).toContain("evaluated step 40: same 1 (before 0)");
  writeFileSync(
    join(project, "wrong.jsonl"),
    jsonl([{ prompt: PROMPT, completion: "Bye<|im_end|>" }]),
  );
  const found = await runKit(project, [
    ...["eval", "latest", "--data", "wrong.jsonl", "--json", "--wrong", "again.jsonl"],
  ]);
  expect(JSON.parse(found.stdout)).toMatchObject({
    wrong: [{ input: PROMPT, expected: "Bye", answer: "Hello" }],
  });
});
