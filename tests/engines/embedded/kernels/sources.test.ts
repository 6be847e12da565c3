import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const FOLDER = new URL("../../../../engines/embedded/kernels/assembly/", import.meta.url);
const EMBEDDED = new URL("../../../../engines/embedded/", import.meta.url);
const MAX_LINES = 40;
/** Sums of every quantized type, held in as many registers: parts of their own would have to give eight back. */
const MAX_SUMS_LINES = 66;

/** Every function of the kernels' sources, from its first line to its last, a name and its lines. */
const FUNCTIONS = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".ts"))
  .flatMap((file) => {
    const source = readFileSync(new URL(file, FOLDER), "utf8");
    const found = source.matchAll(/^(?:export )?function (\w+)[^]*?^\}$/gm);
    const most = file.startsWith("quantized") ? MAX_SUMS_LINES : MAX_LINES;
    return [...found].map(([text, name = ""]) => [name, text.split("\n").length, most] as const);
  });

test("each function of the kernels has fewer than 40 lines", () => {
  expect(FUNCTIONS.length).toBeGreaterThan(40);
  expect(FUNCTIONS.filter(([, lines, most]) => lines >= most)).toEqual([]);
});

test("each kernel of the package is one that the engine calls", () => {
  const calls = readdirSync(EMBEDDED, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.startsWith("kernels/assembly/"))
    .map((file) => readFileSync(new URL(file, EMBEDDED), "utf8"))
    .join("\n");
  const index = readFileSync(new URL("index.ts", FOLDER), "utf8");
  const kernels = [...index.matchAll(/\b[a-z]\w+(?=,| \})/g)].map(([name]) => name);
  expect(kernels.length).toBeGreaterThan(20);
  expect(kernels.filter((name) => !new RegExp(`\\b${name}\\(`).test(calls))).toEqual([]);
});
