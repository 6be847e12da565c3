import { cpSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTinyProject, runKit } from "../kit.ts";
import { createProject } from "../project.ts";

test.each(["a*b", "a?[b]"])("a project in a folder named %s trains", async (name) => {
  const project = join(createProject(), name);
  cpSync(createTinyProject(), project, { recursive: true });
  const { code, stderr } = await runKit(project, ["start"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test("a project in a folder with a backslash, from which Node.js loads nothing, says so", async () => {
  const project = join(createProject(), "a\\b");
  cpSync(createTinyProject(), project, { recursive: true });
  const { code, stderr } = await runKit(project, ["start"]);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `kit: Node.js cannot load code from ${join(project, ".kit/build")}: the path has a backslash. Rename that folder.\n`,
  });
});
