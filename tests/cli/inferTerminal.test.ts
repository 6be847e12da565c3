import { once } from "node:events";
import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { printableLines } from "../../protocol/printable.ts";
import { CLI, createTinyProject, runKit, tinySource } from "../kit.ts";
import { spawnProcess } from "../process.ts";

/** Random weights, which hardly ever end an answer. */
const OPTIONS = `maxSteps: 1, model: { layers: 1, heads: 1, width: 8, context: 600 },`;

test("kit infer cuts an answer where none that the job learned goes on, or after 512 tokens, and says so once; on a terminal it streams the same answer", async () => {
  const project = createTinyProject(tinySource({ options: OPTIONS }));
  await runKit(project, ["start"]);
  const [job = ""] = readdirSync(join(project, ".kit/jobs"));
  // 1.25 × ("<bos>7<eos>") tokens.
  const learned = await runKit(project, ["infer", "latest", "1"]);
  expect(learned.stderr).toBe(
    `an answer was cut off after 4 tokens, 25 % more than the longest answer that job ${job} learned; for more, raise --max-tokens\n`,
  );
  const checkpoint = `.kit/jobs/${job}/artifacts/step-1`;
  expect(await runKit(project, ["infer", `./${checkpoint}`, "1"])).toEqual(learned);

  cpSync(join(project, checkpoint), join(project, "model"), { recursive: true });
  const { stdout, stderr } = await runKit(project, ["infer", "./model", "1"]);
  expect(stderr).toBe("an answer was cut off after 512 tokens; for more, raise --max-tokens\n");
  expect(stdout.startsWith(learned.stdout.trimEnd())).toBe(true);
  const limited = await runKit(project, ["infer", "latest", "1", "--max-tokens", "8"]);
  expect(limited.stderr).toBe("");
  expect(stdout.startsWith(limited.stdout.trimEnd())).toBe(true);
  expect(stdout.length).toBeGreaterThan(limited.stdout.length);

  const command = `"${process.execPath}" "${CLI}" infer latest 1 --max-tokens 8`;
  const terminal = spawnProcess("script", ["-qec", command, "/dev/null"], project);
  let shown = "";
  terminal.child.stdout?.on("data", (chunk) => (shown += String(chunk)));
  await once(terminal.child, "close");
  expect(shown.replaceAll("\r\n", "\n").trimEnd()).toBe(printableLines(limited.stdout.trimEnd()));
});
