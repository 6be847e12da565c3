import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { loadModel } from "kit";
import { expect, test } from "vitest";
import { runKit } from "./kit.ts";
import { createProject } from "./project.ts";

const RUN_LIMIT_MS = 300_000;

test(
  "the quickstart, as it is, normalises at least 90 % of the held-out dates exactly",
  async () => {
    const project = createProject();
    await runKit(project, ["init", "."]);
    expect(await runKit(project, ["start"])).toMatchObject({ code: 0, stderr: "" });
  return name ?? "";
}
