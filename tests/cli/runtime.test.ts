import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { oldRuntime, slowRuntime } from "../../cli/runtime.ts";
import { CLI, createTinyProject, runKit, tinySource } from "../kit.ts";
import { ROOT } from "../packed.ts";

test.each([
  [{ node: "18.20.8" }, "Node 18.20.8 is too old. Install 20.19 or later."],
  [{ node: "20.18.3" }, "Node 20.18.3 is too old. Install 20.19 or later."],
  [{ node: "20.19.0" }, undefined],
  [{ node: "24.1.0" }, undefined],
  [{ node: "24.3.0", bun: "1.3.14" }, "Bun 1.3.14 is too old. Install 1.4 or later."],
  [{ node: "26.3.0", bun: "1.4.0" }, undefined],
  [{ node: "24.2.0", deno: "2.5.7" }, "Deno 2.5.7 is too old. Install 2.9 or later."],
  [{ node: "26.3.0", deno: "2.9.6" }, undefined],
])("%o: %s", (versions, expected) => {
  expect(oldRuntime(versions)).toBe(expected);
});

test("an older Node prints one sentence, though it can't load the rest", () => {
  const { engines } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    engines: { node: string };
  };
  const code = `Object.defineProperty(process, "versions", { value: { node: "18.20.8" } });
    process.argv.splice(1, 0, ${JSON.stringify(CLI)}); import(${JSON.stringify(CLI)});`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["-e", code], {
    encoding: "utf8",
  });
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toBe("kit: Node 18.20.8 is too old. Install 20.19 or later.\n");
  expect(engines.node).toBe(">=20.19.0");
});

test.each([
  ["", 0, 1],
  // No machine has this GPU.
  [`engine: webgpu({ adapter: "Voodoo" }),`, 1, 0],
])(
  "kit start says once what a newer Node would bring the embedded engine: %s",
  async (options, code, count) => {
    const note = slowRuntime({ node: "20.20.2" });
    expect(note).toMatch(/^Node 20\.20\.2 is past its end of life, and trains at half the speed/);
    expect(slowRuntime({ node: "22.0.0" })).toBeUndefined();
    expect(slowRuntime({ node: "20.0.0", bun: "1.4.0" })).toBeUndefined();
    const source = tinySource({ options, before: `import { webgpu } from "kit/engines";` });
    const started = await runKit(createTinyProject(source), ["start"], {
      KIT_NODE_NOTE: undefined,
    });
    const expected = slowRuntime(process.versions);
    expect(started.code).toBe(code);
    const lines = started.stderr.split("\n").filter((line) => line === `kit: ${expected}`);
    expect(lines).toHaveLength(expected === undefined ? 0 : count);
  },
);
