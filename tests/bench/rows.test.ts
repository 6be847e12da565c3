import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { ROWS } from "../../bench/rows.ts";

const SCRIPT = fileURLToPath(new URL("../../scripts/runBench.mjs", import.meta.url));

it("every row of the benchmark works and reports a number", async () => {
  const child = spawn(process.execPath, [SCRIPT, "--tiny"], { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const printed = { out: "", error: "" };
  child.stdout.on("data", (chunk) => (printed.out += String(chunk)));
  child.stderr.on("data", (chunk) => (printed.error += String(chunk)));
  const [code] = (await once(child, "close")) as [number | null];
  expect(code, printed.error).toBe(0);
  const lines = printed.out.split("\n").filter((line) => /^\| \d/.test(line));
  const cells = lines.map((line) =>
    line.split(" | ").map((cell) => cell.replace(/^\| /, "").trim()),
  );
  expect(cells.filter(([, , ours]) => !/^[\d,.e-]+( |$)/.test(ours ?? ""))).toEqual([]);
  const numbers = new Set(cells.map(([number]) => Number(number)));
  expect(numbers).toEqual(new Set(ROWS.map(({ number }) => number)));
});
