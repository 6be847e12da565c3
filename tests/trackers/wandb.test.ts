import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readPage, snippetsOf } from "../docs/snippets.ts";
import { createTinyProject, runKit, tinySource } from "../kit.ts";
import { hasTrackers, program } from "./environment.ts";

const LOGGED = new Set(["training.log", "checkpoint.evaluated"]);

test.runIf(hasTrackers)(
  "track.py of docs/trackers.md writes a job's log for W&B, offline",
  async () => {
    const snippet = snippetsOf(readPage("trackers.md")).find(({ path }) => path === "track.py");
    const options = "evalSplit: 0.25, evaluate: { metrics: { loss: () => 3 }, maxTokens: 2 },";
    const project = createTinyProject(tinySource({ options }), { "track.py": snippet!.code });
    const { stdout } = await runKit(project, ["start", "--json"]);
    const env = { ...process.env, HOME: project, WANDB_MODE: "offline", WANDB_SILENT: "true" };
    execFileSync(program("python"), ["track.py"], { cwd: project, env, input: stdout });
    const words = ["leet", "inspect", "--json", join(project, "wandb")];
    const records = jsonLines(execFileSync(program("wandb"), words, { env, encoding: "utf8" }));
    const histories = records.flatMap(({ history }) => (history ? [history.item] : []));
    const logged = jsonLines(stdout).flatMap(({ event, data }) =>
      LOGGED.has(event) ? [data] : [],
    );
    expect(histories).toMatchObject(
      logged.map(({ metrics, ...values }) => ({
        ...values,
        ...(metrics && { "evaluate/loss": metrics.loss }),
      })),
    );
    expect(histories.map(({ step }) => step).toSorted()).toEqual([0, 1, 2, 2, 3, 4, 4]);
  },
);

interface Line {
  event: string;
  data: { metrics?: { loss: number } };
  /** Of W&B. */
  history?: { item: { step: number } };
}

function jsonLines(text: string): Line[] {
  const lines = text.trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Line);
}
