import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseMaxTokens, parseSeed, parseTemperature, parseTopP } from "../../cli/command.ts";
import { rowRequest } from "../../cli/infer/lineRequest.ts";
import { createJobStore } from "../../jobs/store.ts";
import { CLI, TINY_DATA, tinySource } from "../kit.ts";
import { spawnProcess } from "../process.ts";
import { createProject } from "../project.ts";

/** The one project whose trained model every test asks. */
const project = realpathSync(mkdtempSync(join(tmpdir(), "kit-infer-")));
let id = "";

function kit(args: string[], input = "", cwd = project) {
  // Nothing answers there.
  const env = { ...process.env, HF_ENDPOINT: "http://127.0.0.1:9" };
  const words = [CLI, ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { cwd, input, env });
  return { code: status, stdout: String(stdout), stderr: String(stderr) };
}

/** The answers to rows, by the model of the newest job. */
function answersOf(rows: object[]): unknown[] {
  const input = rows.map((row) => JSON.stringify(row)).join("\n");
  const { code, stdout, stderr } = kit(["infer", "latest", "--jsonl", "--max-tokens", "8"], input);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}

beforeAll(() => {
  mkdirSync(join(project, "src/kit"), { recursive: true });
  writeFileSync(join(project, "src/kit/index.ts"), tinySource({ options: "learningRate: 0.1," }));
  writeFileSync(join(project, "data.jsonl"), TINY_DATA);
  expect(kit(["start"]).code).toBe(0);
  id = createJobStore(project).list()[0]?.id ?? "";
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

describe("kit infer", () => {
  it("answers a prompt with the job's last artifact, and prints nothing else on stdout", () => {
    const step4 = `.kit/jobs/${id}/artifacts/step-4`;
    const ask = (model: string) => kit(["infer", model, "1", "--max-tokens", "8"]);
    const answer = ask(id);
    const [row] = answersOf([{ prompt: "1" }]) as [{ answer: string }];
    expect(answer).toEqual({ code: 0, stdout: `${row.answer}\n`, stderr: "" });
    for (const named of ["latest", id.slice(0, -2), step4]) expect(ask(named)).toEqual(answer);
  });

  it("adds the calls that the model makes, as it wrote them", () => {
    const row = '"prompt":"1","tools":[{"type":"function","function":{"name":"f"}}]';
    const written = '{"id": 2512292042121000001}';
    const call = { type: "function" as const, function: { name: "f", arguments: written } };
    const answer = { text: "", toolCalls: [call], tokens: 1, promptTokens: 1 };
    expect(rowRequest(`{${row}}`).format({ ...answer, finishReason: "toolCalls" })).toBe(
      `{${row},"answer":"","tool_calls":[${JSON.stringify(call)}]}`,
    );
  });

  it("keeps a row's digits and the order of its keys", () => {
    const row = '"id":2512292042121000001,"10":1.0,"2":{"b":-0.0},"prompt":"1"';
    const asked = ["infer", "latest", "--jsonl", "--max-tokens", "8"];
    const { stdout } = kit(asked, `{${row}}`);
    expect(stdout).toMatch(new RegExp(`^\\{${row},"answer":".*"\\}\n$`));
  });

  it("keeps each row and adds the answer; a conversation is asked without its last answer", () => {
    const user = { role: "user", content: "1" };
    const messages = [user, { role: "assistant", content: "the right one" }];
    const rows = [
      { id: 7, prompt: "1", completion: "\u2028 1" },
      { messages },
      { messages: [user] },
    ];
    const answered = answersOf(rows) as { answer: string }[];
    expect(answered).toEqual(rows.map((row) => ({ ...row, answer: expect.any(String) })));
    const [first, second, third] = answered.map(({ answer }) => answer);
    expect([second, third]).toEqual([first, first]);
  });

  it("answers each line of its input, whatever ends it, and passes the sampling on", () => {
    const options = ["infer", "latest", "--max-tokens", "3", "--temperature", "9", "--top-p", ".9"];
    const sampled = (seed: number) => kit([...options, "--seed", `${seed}`], "\uFEFF1\r\n1");
    const { code, stdout } = sampled(1);
    expect(code).toBe(0);
    expect(stdout.slice(0, stdout.length / 2)).toBe(stdout.slice(stdout.length / 2));
    expect(sampled(1).stdout).toBe(stdout);
    expect(sampled(2).stdout).not.toBe(stdout);
  });

  it("answers more lines than it asks at once, each in its place, also with quantized weights", () => {
    const rows = Array.from({ length: 70 }, (_, i) => ({ i, prompt: `${i % 7}` }));
    const input = rows.map((row) => JSON.stringify(row)).join("\n");
    for (const quantize of [[], ["--quantize", "q8_0"]]) {
      const sampling = ["--max-tokens", "4", "--temperature", "5"];
      const { code, stdout } = kit(["infer", "latest", "--jsonl", ...sampling, ...quantize], input);
      expect(code).toBe(0);
      const answered = stdout.trimEnd().split("\n");
      const answers = answered.map((line) => (JSON.parse(line) as { answer: string }).answer);
      expect(new Set(answers.slice(0, 7)).size).toBeGreaterThan(1);
      expect(answered.map((line) => JSON.parse(line) as unknown)).toEqual(
        rows.map((row) => ({ ...row, answer: answers[row.i % 7] })),
      );
    }
    const { code, stderr } = kit(["infer", "latest", "1", "--quantize", "q5"]);
    expect({ code, names: stderr.includes("q8_0, q4_0") }).toEqual({ code: 2, names: true });
  });

  it.each([
    ["{oops", /^not valid JSON at character 2: a word without quotes\. Write strings/],
    ["oops", /^not valid JSON at character 1: it begins with oops\. Write \{"prompt"/],
    ['{"prompt":"é",}', /^not valid JSON at character 15: a comma before \}\. Remove the comma\.$/],
    ['["1"]', /^not a JSON object\. Write /],
    ['{"text":"1"}', /^no "prompt" or "messages"\. Write /],
    ['{"prompt":"1","tools":[{}]}', /^tools\[0\] is not \{"type":"function",.*\. Write /],
    ['{"prompt":1}', /^"prompt" is neither text nor a list of messages\. Write /],
    ['{"messages":[{"role":"me"}]}', /^messages\[0\] has the role "me": write system, .*\. Write /],
    ['{"messages":[{"content":"1"}]}', /^messages\[0\] needs a "role" .*\. Write /],
    ['{"messages":[{"role":"assistant","content":""}]}', /^"messages" has no question\. Write /],
    ['{"prompt":"1","answer":"2"}', /^the row already has an "answer"\. Rename it/],
  ])("says what is wrong with a row: %s", (row, message) => {
    expect(() => rowRequest(row)).toThrow(message);
  });

  it("goes on after a row that cannot be answered, says its line in its place, and fails", () => {
    const rows = [
      '{"prompt":"1"}',
      "",
      "{oops",
      `{"prompt":"${"x".repeat(40)}"}`,
      '{"prompt":"2"}',
    ];
    const args = ["infer", id, "--jsonl", "--max-tokens", "1"];
    const { code, stdout, stderr } = kit(args, rows.join("\n"));
    const answered = stdout.split("\n").map((line) => (line ? (JSON.parse(line) as object) : line));
    const answer = expect.any(String) as string;
    const [json, long] = [
      "not valid JSON at character 2: ",
      "The prompt is too long: its 44 tokens ",
    ].map((text) => expect.stringContaining(text) as string);
    expect(answered).toEqual([
      { prompt: "1", answer },
      { line: 3, error: json },
      { line: 4, error: long },
      { prompt: "2", answer },
      "",
    ]);
    expect(stderr).toMatch(/^kit: line 3: not valid.*\nkit: line 4: The prompt is too long: .*\n$/);
    expect(code).toBe(1);
  });

  it("keeps each answer on its question's line", () => {
    const question = (text: string) => kit(["infer", id, "--max-tokens", "3"], text);
    const [one, two] = ["1", "2"].map((text) => question(text).stdout);
    expect(question(`1\n\n${"x".repeat(40)}\n2\n`)).toEqual({
      code: 1,
      stdout: `${one}\n\n${two}`,
      stderr: expect.stringMatching(/^kit: line 3: The prompt is too long: .*\n$/) as string,
    });
  });

  it.each([
    [["nothing", "1"], 2, "No job, folder or file named nothing in "],
    [["1999", "1"], 2, "No job, folder or file named 1999 in "],
    [["latest", "1", "--project", "src"], 2, "/src yet. Run npx kit start --project "],
    [["latest"], 2, "No prompt on stdin."],
    [["latest", "1", "--jsonl"], 2, "--jsonl reads rows from stdin."],
    [["latest", "1", "--top-p", "0"], 2, "It must be a number above 0 and at most 1."],
    [["src/kit", "1"], 1, "There is no "],
    ...[
      "artifacts/step-30",
      "data.jsonl/x",
      "nodir/d.gguf",
      "src/nothing",
      "kit/nothing",
      "a//b",
      "a/b/c",
    ].map((path): [string[], number, string] => [[path, "1"], 2, `named ${path} in `]),
    [["org/nowhere", "1"], 1, "There is no local folder org/nowhere, either; check the name."],
    [["latest", "x".repeat(40)], 1, "The prompt is too long: its 44 tokens leave no room"],
  ])("fails with one clear sentence and an exit code for %j", (args, code, message) => {
    const ended = kit(["infer", ...args]);
    expect(ended).toMatchObject({ code, stdout: "", stderr: expect.stringContaining(message) });
    expect(ended.stderr.split("\n")).toHaveLength(2);
  });

  it("says which ids an ambiguous one could be, and what a deleted result was", () => {
    const root = join(project, ".kit/jobs");
    const other = join(root, `${id.slice(0, -4)}zzzz`);
    mkdirSync(other);
    writeFileSync(join(other, "job.json"), '{"name":"x","createdAt":"2026-11-22T00:00:00Z"}');
    expect(kit(["infer", id.slice(0, 8), "1"])).toMatchObject({
      code: 2,
      stderr: `kit: ${id.slice(0, 8)} matches 2 jobs. Use a longer prefix, or "latest".\n`,
    });
    expect(kit(["infer", basename(other), "1"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`The job in ${other} has saved no checkpoint.`),
    });
    rmSync(other, { recursive: true });

    const artifact = join(root, id, "artifacts/step-4");
    renameSync(artifact, `${artifact}-away`);
    const { code, stderr } = kit(["infer", "latest", "1"]);
    renameSync(`${artifact}-away`, artifact);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `kit: The job's result ${artifact} was deleted. Load another checkpoint.\n`,
    });
  });

  it.each([
    [parseMaxTokens, ["1", "4096", "1e3"], ["0", "1.5", "x", "", "-1", "1e-3"]],
    [parseTemperature, ["0", ".5", "2", "1e-3"], ["-1", "hot", "1.", "1e999", "Infinity"]],
    [parseTopP, ["0.1", "1"], ["0", "1.1"]],
    [parseSeed, ["0", "42"], ["0.5", "9007199254740993"]],
  ])("takes sampling options that the model can use, and no others: %o", (parse, right, wrong) => {
    for (const text of right) expect(parse(text)).toBe(Number(text));
    for (const text of wrong) expect(() => parse(text)).toThrow("It must be ");
  });

  it("answers with the engine that trained the job, if the project still has it", () => {
    const mine = createProject({
      "src/kit/index.ts": tinySource({
        before: "setInterval(() => {}, 1000);",
        options: `engine: {
          name: "mine",
          prepare: (asked: object) => asked,
          check: () => undefined,
          train: () => undefined,
          load: async (path: string) => ({
            infer: async ({ prompt }: { prompt: string }) =>
              prompt === "" ? {} : { text: "mine", finishReason: "stop", promptTokens: 1, tokens: 1 },
            close: async () => {},
          }),
        } as never,`,
      }),
    });
    const job = join(mine, ".kit/jobs", id);
    mkdirSync(join(job, "artifacts/step-1"), { recursive: true });
    const file = {
      name: "x",
      createdAt: "2026-11-22T00:00:00Z",
      config: { engine: { name: "mine" } },
    };
    writeFileSync(join(job, "job.json"), JSON.stringify(file));
    expect(kit(["infer", "latest", "1"], "", mine)).toMatchObject({ code: 0, stdout: "mine\n" });
    // Also after an error.
    expect(kit(["infer", "latest", ""], "", mine)).toMatchObject({ code: 1, stdout: "" });
  });

  it("says of an adapter whose base is gone where it looks for it", () => {
    const adapter = join(project, "moved/step-1");
    mkdirSync(adapter, { recursive: true });
    writeFileSync(
      join(adapter, "adapter_config.json"),
      '{"peft_type":"LORA","base_model_name_or_path":"/gone","r":1,"lora_alpha":1,"target_modules":["q_proj"]}',
    );
    expect(kit(["infer", adapter, "1"])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        new RegExp(`^kit: .* /gone\\. .*${join(project, "moved/base")}\\.\n$`),
      ) as string,
    });
  });

  it("ends when nobody reads the other answers", () => {
    const command = `yes 1 | "${process.execPath}" "${CLI}" infer latest --max-tokens 1 | head -c 1`;
    const shell = spawnSync("bash", ["-c", `${command}; echo "\${PIPESTATUS[1]}"`], {
      cwd: project,
    });
    expect(String(shell.stdout).slice(-2)).toBe("0\n");
    expect(String(shell.stderr)).toBe("");
  });

  it("says when its answers cannot be written", () => {
    const command = `"${process.execPath}" "${CLI}" infer latest 1 > /dev/full`;
    const { status, stderr } = spawnSync("bash", ["-c", command], { cwd: project });
    expect(String(stderr)).toMatch(/^kit: Cannot write the output: ENOSPC: .*\n$/);
    expect(status).toBe(1);
  });

  it("asks on a terminal, goes on after a question that is too long, and ends at Ctrl-C", async () => {
    const command = `cd "${project}" && "${process.execPath}" "${CLI}" infer latest --max-tokens 1`;
    const { child } = spawnProcess("script", ["-qec", command, "/dev/null"]);
    const ended = once(child, "exit");
    let printed = "";
    child.stdout?.on("data", (chunk) => (printed += String(chunk)));
    const prompts = async (count: number) => {
      while (printed.split("> ").length <= count) await once(child.stdout!, "data");
    };
    await prompts(1);
    child.stdin?.write(`${"x".repeat(40)}\r`);
    await prompts(2);
    expect(printed).toContain("The prompt is too long: its 44 tokens");
    child.stdin?.write("1\r");
    await prompts(3);
    child.stdin?.write("\u0003");
    expect((await ended)[0]).toBe(130);
  });
});
