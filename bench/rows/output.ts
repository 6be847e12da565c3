import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openPage } from "../browser.ts";
import { atLeast, atMost, moreAtMost } from "../goals.ts";
import type { Row } from "../row.ts";
import type { Scope } from "../scope.ts";
import { startKitUi } from "../server.ts";

const MEGABYTES = { full: 100, quick: 20, tiny: 1 };
const FEW_MEGABYTES = { full: 1, quick: 1, tiny: 0.1 };
const LAST_LINE = "the last line";
/** Looks at the last blocks only: it is asked in every frame. */
const LAST_LINE_IS_SHOWN = `
  [...document.querySelectorAll(".run-training .block:nth-last-child(-n + 2)")]
    .some(({ textContent }) => textContent.includes("${LAST_LINE}"))`;

export const flood: Row = {
  number: 12,
  work: "Run training box taking 100 MB of output",
  baseline: "1 MB",
  async measure(scope) {
    const ours = await takeOutput(scope, scope.pick(MEGABYTES));
    const baseline = await takeOutput(scope, scope.pick(FEW_MEGABYTES));
    const figures = (key: "answer" | "heap" | "shown") => ({
      ours: ours[key],
      baseline: baseline[key],
    });
    return [
      { part: "slowest answer of the page", ...figures("answer"), unit: "ms", goal: atMost(100) },
      { part: "heap", ...figures("heap"), unit: "MB", goal: moreAtMost(20) },
      { part: "latest output to its last line", ...figures("shown"), unit: "ms" },
      { part: "says what was dropped (1: it does)", ours: ours.told, unit: "", goal: atLeast(1) },
    ];
  },
};

/** Runs a trainer that prints so much, and watches the page the while. */
async function takeOutput(scope: Scope, megabytes: number) {
  const project = scope.folder();
  writeProject(project, megabytes * 1e6);
  const { url } = await startKitUi(scope, project);
  const { page, until, heap } = await openPage(scope);
  await page.goto(url);
  const button = page.getByRole("button", { name: "Run training: flood" });
  await button.and(page.locator(":enabled")).waitFor();
  // A task of the page's own after the other: the longest wait is the slowest answer.
  await page.evaluate(`
    globalThis.slowest = 0;
    globalThis.asked = performance.now();
    setInterval(() => {
      const now = performance.now();
      slowest = Math.max(slowest, now - asked - 20);
      asked = now;
    }, 20);`);
  const start = performance.now();
  await button.click();
  await until(LAST_LINE_IS_SHOWN);
  const shown = performance.now() - start;
  const told = await page.getByText("characters are not shown here").count();
  return { answer: await page.evaluate<number>("slowest"), heap: await heap(), shown, told };
}

function writeProject(project: string, bytes: number): void {
  mkdirSync(join(project, "src", "kit"), { recursive: true });
  writeFileSync(join(project, "data.jsonl"), '{"prompt":"a","completion":"b"}\n');
  writeFileSync(
    join(project, "src", "kit", "index.ts"),
    `import { writeSync } from "node:fs";
import { createKit, createTrainer } from "kit";
const text = Array.from({ length: 1_000 }, (_, n) =>
  \`\\u001b[32mstep \${n}\\u001b[0m  loss 2.3456  5,678 tokens/s  and whatever else a trainer prints\\n\`,
).join("");
export default createKit({
  trainer: createTrainer({
    name: "flood",
    model: { layers: 1, heads: 1, width: 8, context: 32 },
    dataset: { type: "jsonl", path: "data.jsonl" },
    maxSteps: 1,
    callbacks: {
      onStarted() {
        for (let printed = 0; printed < ${bytes}; printed += text.length) writeSync(1, text);
        writeSync(1, "${LAST_LINE}\\n");
      },
    },
  }),
});
`,
  );
}
