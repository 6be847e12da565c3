import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type MeasuredPage, openPage } from "../browser.ts";
import { atLeast, atMost, moreAtMost } from "../goals.ts";
import type { Row } from "../row.ts";
import { type Scope, inScope } from "../scope.ts";
import { startKitUi } from "../server.ts";
import { runAlternately, median } from "../statistics.ts";

const MEGABYTES = { full: 100, quick: 20, tiny: 1 };
const FEW_MEGABYTES = { full: 1, quick: 1, tiny: 0.1 };
const RUNS = { full: 7, quick: 3, tiny: 1 };
const LIMIT_MS = 60_000;
const LAST_LINE = "the last line";
/** Checks only the last blocks, because it runs in every frame. */
const LAST_LINE_IS_SHOWN = `
  [...document.querySelectorAll(".run-training .block:nth-last-child(-n + 2)")]
    .some(({ textContent }) => textContent.includes("${LAST_LINE}"))`;

export const flood: Row = {
  number: 12,
  work: "Run training box taking 100 MB of output",
  baseline: "1 MB",
  async measure(scope) {
    const { ours, baseline } = await runAlternately(
      {
        ours: await startFlood(scope, scope.pick(MEGABYTES)),
        baseline: await startFlood(scope, scope.pick(FEW_MEGABYTES)),
      },
      scope.pick(RUNS),
    );
    const values = (key: "delay" | "heap" | "shown") => ({
      ours: median(ours.map((run) => run[key])),
      baseline: median(baseline.map((run) => run[key])),
    });
    const noted = Math.min(...ours.map((run) => run.noted));
    return [
      { part: "slowest response of the page", ...values("delay"), unit: "ms", goal: atMost(100) },
      { part: "heap", ...values("heap"), unit: "MB", goal: moreAtMost(20) },
      { part: "click to the last line on screen", ...values("shown"), unit: "ms" },
      { part: "says what was dropped (1: yes)", ours: noted, unit: "", goal: atLeast(1) },
    ];
  },
};

/** Creates a project whose trainer prints this much. @returns a function that runs it from a new page */
async function startFlood(scope: Scope, megabytes: number): Promise<() => Promise<FloodResult>> {
  const project = scope.folder();
  writeProject(project, megabytes * 1e6);
  const { url } = await startKitUi(scope, project);
  return () =>
    inScope(scope.size, LIMIT_MS, async (inner) => measureFlood(await openPage(inner), url));
}

interface FloodResult {
  /** The page's longest delay, in ms. */
  delay: number;
  /** In MB. */
  heap: number;
  /** From the click to the last line, in ms. */
  shown: number;
  /** 1 if the page says what it has dropped. */
  noted: number;
}

async function measureFlood(
  { page, until, heap }: MeasuredPage,
  url: string,
): Promise<FloodResult> {
  await page.goto(url);
  const button = page.getByRole("button", { name: "Run training: flood" });
  const enabled = button.and(page.locator(":enabled"));
  await enabled.waitFor();
  // A timer in the page: its longest delay is the slowest response to a click.
  await page.evaluate(`
    globalThis.slowest = 0;
    globalThis.last = performance.now();
    setInterval(() => {
      const now = performance.now();
      slowest = Math.max(slowest, now - last - 20);
      last = now;
    }, 20);`);
  const start = performance.now();
  await button.click();
  // Until then, the box shows the last run's output.
  await until(`!(${LAST_LINE_IS_SHOWN})`);
  await until(LAST_LINE_IS_SHOWN);
  const shown = performance.now() - start;
  const noted = await page.getByText("characters are not shown").count();
  const taken = {
    delay: await page.evaluate<number>("slowest"),
    heap: await heap(),
    shown,
    noted,
  };
  // The next run begins when this one has ended.
  await enabled.waitFor();
  return taken;
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
