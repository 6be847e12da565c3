import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { jsonl } from "./engines/embedded/scratch.ts";
import { CLI, createTinyProject, runKit, tinySource } from "./kit.ts";
import { saveToolModel } from "./toolModel.ts";

const SYSTEM = { role: "system", content: "You are Ada, a librarian who sighs." };
const TOOLS = [
  {
    type: "function",
    function: {
      name: "find_book",
      description: "Find a book on the shelves",
      parameters: {
        type: "object",
        properties: {
          title: { type: "string", description: "As it is on the cover" },
          floor: { type: "string", enum: ["ground", "first"] },
        },
        required: ["title", "floor"],
      },
    },
  },
];
const CALL = {
  id: "call_id",
  type: "function",
  function: { name: "find_book", arguments: '{"title": "Emma", "floor": "first"}' },
};
/** The three kinds of lines that OpenAI's guide to fine-tuning shows, key by key, in other words. */
const ROWS = [
  {
    messages: [
      SYSTEM,
      { role: "user", content: "Who wrote Emma?" },
      { role: "assistant", content: "Austen, as the cover says." },
    ],
  },
  {
    messages: [
      SYSTEM,
      { role: "user", content: "Is it long?" },
      { role: "assistant", content: "Long.", weight: 0 },
      { role: "user", content: "Could you sigh?" },
      { role: "assistant", content: "Long, like my days here.", weight: 1 },
    ],
  },
  {
    messages: [
      { role: "user", content: "Where is Emma?" },
      { role: "assistant", tool_calls: [CALL] },
    ],
    parallel_tool_calls: false,
    tools: TOOLS,
  },
];

test("a file as OpenAI's guide to fine-tuning shows it trains unchanged, and its model is asked alike", async () => {
  const project = createTinyProject(
    tinySource({ options: 'model: "./model", dataset: { path: "openai.jsonl" },' }),
    { "openai.jsonl": jsonl(ROWS) },
  );
  saveToolModel(join(project, "model"));

  const learned = async (row: object) => {
    writeFileSync(join(project, "openai.jsonl"), jsonl([row]));
    const { stdout, stderr } = await runKit(project, ["check"]);
    expect(stderr).toBe("");
    return [...stdout.matchAll(/^ {2}learns {2}(.*)$/gm)].map(([, text]) => text);
  };
  expect(await learned(ROWS[0]!)).toEqual(["Austen, as the cover says.<|im_end|>"]);
  expect(await learned(ROWS[1]!)).toEqual(["Long, like my days here.<|im_end|>"]);
  expect(await learned(ROWS[2]!)).toEqual([
    '<tool_call>{"name": "find_book", "arguments": {"title": "Emma", "floor": "first"}}</tool_call><|im_end|>',
  ]);

  writeFileSync(join(project, "openai.jsonl"), jsonl(ROWS));
  const { code, stdout, stderr } = await runKit(project, ["start"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^ {2}rows +3 of \{messages, tools\} \| \{messages\}$/m);
  expect(stdout).not.toContain("ignoring");

  const ask = ["infer", "latest", "--jsonl", "--max-tokens", "2"];
  const answers = spawnSync(process.execPath, [CLI, ...ask], {
    ...{ cwd: project, encoding: "utf8" as const, input: jsonl(ROWS) },
  });
  expect({ code: answers.status, stderr: answers.stderr }).toEqual({ code: 0, stderr: "" });
  expect(answers.stdout.trim().split("\n")).toHaveLength(ROWS.length);
});
