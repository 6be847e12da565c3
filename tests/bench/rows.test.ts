import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { ROWS } from "../../bench/rows.ts";
import { SWIFTSHADER, hasVulkan } from "../../scripts/swiftshader.mjs";

const SCRIPT = fileURLToPath(new URL("../../scripts/runBench.mjs", import.meta.url));
const NUMBERS = [...new Set(ROWS.map(({ number }) => number))];

it.each([
  { args: ["--tiny"], numbers: NUMBERS },
  ...(hasVulkan() ? [{ args: ["--tiny", "--rows", "webgpu"], numbers: [31] }] : []),
])("every row of the benchmark works and reports a number: $args", async ({ args, numbers }) => {
  const { code, out, error } = await runBench(args);
  expect(code, error).toBe(0);
  const lines = out.split("\n").filter((line) => /^\| \d/.test(line));
  const cells = lines.map((line) =>
    line.split(" | ").map((cell) => cell.replace(/^\| /, "").trim()),
  );
  expect(cells.filter(([, , ours]) => !/^[\d,.e-]+( |$)/.test(ours ?? ""))).toEqual([]);
  expect(new Set(cells.map(([number]) => Number(number)))).toEqual(new Set(numbers));
});

it.each(["99", "webgpu,9"])("an unknown row is an error: --rows %s", async (rows) => {
  const unknown = rows.split(",")[0];
  const error = `kit: There is no row "${unknown}". Name some of ${NUMBERS.join(",")}, or webgpu alone.\n`;
  expect(await runBench(["--rows", rows])).toEqual({ code: 2, out: "", error });
});

async function runBench(args: string[]) {
  const child = spawn(process.execPath, [SCRIPT, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    // No PyTorch: it has no GPU here, and takes seconds to say so.
    env: { ...process.env, ...SWIFTSHADER, KIT_PYTHON: "none" },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const printed = { out: "", error: "" };
  child.stdout.on("data", (chunk) => (printed.out += String(chunk)));
  child.stderr.on("data", (chunk) => (printed.error += String(chunk)));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...printed };
}
