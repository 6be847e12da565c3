import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runKit } from "../kit.ts";
import { createProject } from "../project.ts";

const AGENTS = {
  npm: "npm/11.19.1 node/v20.20.2 linux x64 workspaces/false",
  pnpm: "pnpm/12.21.0 npm/? node/v20.20.2 linux x64",
  yarn: "yarn/4.18.1 npm/? node/v20.20.2 linux x64",
  bun: "bun/1.4.5 npm/? node/v24.3.0 linux x64",
};

async function nextSteps(project: string, agent = "", folder = "."): Promise<string | undefined> {
  const env = { npm_config_user_agent: agent };
  const { stdout } = await runKit(project, ["init", folder], env);
  return /^next: (.*)$/m.exec(stdout)?.[1];
}

it.each(Object.entries(AGENTS))(
  "says what is next in the words of %s, which runs it",
  async (manager, agent) => {
    const project = createProject();
    const next = await nextSteps(project, agent, "demo");
    expect(next).toBe(`cd demo && ${manager} install && ${manager} run ui`);
    const readme = readFileSync(join(project, "demo", "README.md"), "utf8");
    expect(readme).toContain(`\n${manager} install\n${manager} run ui\n`);
    if (manager !== "npm") expect(readme).not.toMatch(/\bnpm\b/);
  },
);

it("falls back to npm", async () => {
  expect(await nextSteps(createProject())).toBe("npm install && npm run ui");
});

it.each([
  ["pnpm", { "pnpm-lock.yaml": "" }],
  ["yarn", { "yarn.lock": "" }],
  ["bun", { "bun.lock": "" }],
  ["bun", { "bun.lockb": "" }],
  ["npm", { "package-lock.json": "{}" }],
  ["pnpm", { "package.json": `{"packageManager":"pnpm@10.1.0+sha512.ab"}` }],
  ["yarn", { "package.json": `{"packageManager":"yarn@4.1.0"}`, "package-lock.json": "{}" }],
])("goes by the project, not by what runs it: %s with %j", async (manager, files) => {
  const other = manager === "npm" ? "pnpm" : "npm";
  const project = createProject(files);
  expect(await nextSteps(project, AGENTS[other])).toMatch(new RegExp(`^${manager} install && `));
});

it("goes by the nearest folder above", async () => {
  const project = createProject({ "yarn.lock": "", "a/pnpm-lock.yaml": "", "a/b/c.txt": "" });
  expect(await nextSteps(project, AGENTS.npm, "a/b")).toContain("pnpm install");
});

it.each([
  ["npm", "npx --no kit ui"],
  ["pnpm", "pnpm exec kit ui"],
  ["yarn", "yarn run kit ui"],
  ["bun", "bun run kit ui"],
] as const)("fetches no kit where the script's name is taken: %s", async (manager, words) => {
  const project = createProject({ "package.json": `{"scripts":{"ui":"storybook"}}` });
  expect(await nextSteps(project, AGENTS[manager])).toBe(`${manager} install && ${words}`);
});

it("lets pnpm install without judging install scripts, in a workspace file that has more too", async () => {
  const judged = "allowBuilds:\n  esbuild: false\n  webgpu: false\n";
  const created = createProject();
  await nextSteps(created, AGENTS.pnpm);
  expect(readFileSync(join(created, "pnpm-workspace.yaml"), "utf8")).toBe(judged);
  const existing = createProject({
    "pnpm-workspace.yaml": "packages:\n  - a",
    "package.json": "{}",
  });
  await nextSteps(existing, AGENTS.pnpm);
  expect(readFileSync(join(existing, "pnpm-workspace.yaml"), "utf8")).toBe(
    `packages:\n  - a\n${judged}`,
  );
  const other = "allowBuilds:\n  sharp: true\n";
  const kept = createProject({ "pnpm-workspace.yaml": other, "package.json": "{}" });
  const { stdout } = await runKit(kept, ["init"]);
  expect(stdout).toContain("pnpm-workspace.yaml (allowBuilds)");
  expect(readFileSync(join(kept, "pnpm-workspace.yaml"), "utf8")).toBe(other);
});

it("lets npm install without a warning of install scripts, unless the project has judged it", async () => {
  const manifest = (project: string) =>
    JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as Record<string, unknown>;
  const root = createProject({
    "package-lock.json": "{}",
    "package.json": `{"allowScripts":{"esbuild@0.28.2":true}}`,
    "member/package.json": "{}",
  });
  await nextSteps(root, AGENTS.npm, "demo");
  expect(manifest(join(root, "demo")).allowScripts).toEqual({ esbuild: false, webgpu: false });
  await nextSteps(root, AGENTS.npm);
  expect(manifest(root).allowScripts).toEqual({ "esbuild@0.28.2": true, webgpu: false });
  await nextSteps(root, AGENTS.npm, "member");
  expect(manifest(join(root, "member")).allowScripts).toBeUndefined();
});

it("makes a new folder a project of its own, and leaves a workspace's member in it", async () => {
  const root = createProject({
    "yarn.lock": "",
    "package.json": "{}",
    "member/package.json": "{}",
  });
  await nextSteps(root, AGENTS.yarn, "demo");
  expect(readFileSync(join(root, "demo", "yarn.lock"), "utf8")).toBe("");
  await nextSteps(root, AGENTS.yarn, "member");
  expect(existsSync(join(root, "member", "yarn.lock"))).toBe(false);
});
