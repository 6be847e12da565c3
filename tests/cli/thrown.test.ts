import { expect, test } from "vitest";
import { createProject } from "../project.ts";
import { runKit } from "../kit.ts";

test.each([
  ["throw null", "The project's code threw null. Throw an Error, which tells where it comes from."],
  [
    `throw "text"`,
    "The project's code threw 'text'. Throw an Error, which tells where it comes from.",
  ],
  [`throw new Error()`, "Error: an error without a message (src/kit/index.ts:1:7)"],
  [
    `import x from "not-there"; x();`,
    "The package not-there is not installed. Install it with: npm install not-there",
  ],
  [
    `throw Object.assign(new Error("Yarn's"), { pnpCode: "UNDECLARED_DEPENDENCY", data: { dependencyName: "not-there" } });`,
    "The package not-there is not installed. Install it with: npm install not-there",
  ],
  [
    `import { nope } from "kit"; nope();`,
    "SyntaxError: The requested module 'kit' does not provide an export named 'nope'",
  ],
  [
    `Promise.reject(new Error("later")); await new Promise(() => setTimeout(() => {}, 60_000));`,
    "Error: later (src/kit/index.ts:1:16)",
  ],
])(
  "what a project throws while it is loaded is told in one sentence: %s",
  async (code, sentence) => {
    const project = createProject({ "src/kit/index.ts": code });
    const { stderr } = await runKit(project, ["start"]);
    expect(stderr).toBe(`kit: ${sentence}\n`);
  },
);

test("a bundle of a Kit that has moved says to build again", async () => {
  const code = `import "file:///nowhere/kit/dist/sdk/index.js";`;
  const project = createProject({ "src/kit/index.ts": "", ".kit/build/index.mjs": code });
  const { code: exit, stderr } = await runKit(project, ["start"]);
  expect(exit).toBe(1);
  expect(stderr).toMatch(/^kit: The bundle was built by a Kit that is no longer .* Run kit build/);
});

test.each([
  ["npm install", { "package-lock.json": "{}" }],
  ["pnpm add", { "pnpm-lock.yaml": "" }],
  ["yarn add", { "package.json": `{"packageManager":"yarn@4.1.0"}` }],
  ["bun add", { "bun.lock": "" }],
])(
  "a package that is missing is installed by the project's own manager: %s",
  async (words, files) => {
    const project = createProject({ "src/kit/index.ts": `import "@a/b/c.js";`, ...files });
    const { stderr } = await runKit(project, ["start"]);
    expect(stderr).toBe(`kit: The package @a/b is not installed. Install it with: ${words} @a/b\n`);
  },
);
