import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { GATED, openGate, runKit } from "../kit.ts";
import { createProject } from "../project.ts";
import { curve, logLines, openPage, runButton, useBrowser } from "./browser.ts";
import { startKitUi } from "./kitUi.ts";

useBrowser();

const STEPS = 24;
const SAVE_STEPS = STEPS / 2;
/** Held-out dates to ask for at a checkpoint. */
const ASKED = 5;

/** The quickstart as `kit init` writes it, but shorter, and waiting at the first checkpoint. */
async function createQuickstart(): Promise<string> {
  const project = createProject();
  expect((await runKit(project, ["init", "."])).code).toBe(0);
  edit(project, "trainer.ts", [
    [/maxSteps: \d+/, `maxSteps: ${STEPS}, saveSteps: ${SAVE_STEPS}, loggingSteps: 2`],
    [/(?<=exactMatch \},)/, ` rows: ${ASKED},`],
    [/(?=\n\}\);)/, "\n  callbacks: { onCheckpoint: () => gate() },"],
    [/^/, GATED],
  ]);
  return project;
}

function edit(project: string, file: string, changes: [RegExp, string][]): void {
  const path = join(project, "src", "kit", file);
  let source = readFileSync(path, "utf8");
  for (const [pattern, text] of changes) {
    expect(source).toMatch(pattern);
    source = source.replace(pattern, text);
  }
  writeFileSync(path, source);
}

test("a click trains the quickstart for real: output, list, live curve, completed job, reload", async () => {
  const project = await createQuickstart();
  // On as many threads as a user's.
  const { url } = await startKitUi(project, 0, { env: { KIT_THREADS: undefined } });
  const page = await openPage(url);
  const button = runButton(page);
  const output = page.getByLabel("Output of kit start");
  const row = page.locator("tbody tr");

  await page.getByText("No jobs yet.").waitFor();
  await expect.poll(() => button.innerText()).toBe("Run training: date-normalizer");
  await button.click();

  await expect.poll(() => output.innerText()).toMatch(/^job \S+ date-normalizer\n/);
  expect(await button.isDisabled()).toBe(true);
  await row.waitFor();
  expect(await page.locator("th").allInnerTexts()).toEqual(["Status", "Name", "Created", "ID"]);
  const id = await row.locator("td").nth(3).innerText();

  // Anywhere in the row, not only on its link.
  await row.locator("td").nth(2).click();
  expect(new URL(page.url()).hash).toBe(`#/jobs/${id}`);
  await expect.poll(async () => (await curve(page)).length).toBeGreaterThan(3);
  expect(await page.locator(".outcome").innerText()).toBe("running");
  openGate(project);

  await page.getByText("artifacts: 2").waitFor();
  expect(await page.locator(".outcome").innerText()).toMatch(/^completed\s+artifacts: 2$/);
  const facts = (await page.locator(".loss-chart + .facts dd").allInnerTexts()).join("; ");
  expect(facts).toMatch(/^\d+s; 24 of 24; [\d,]+; 0\.000\d+/);
  const losses = await curve(page);
  // Downwards on the screen is a falling loss.
  expect(losses[0]).toBe(0);
  expect(losses.at(-1)).toBeGreaterThan(100);
  const lines = await logLines(page);
  expect(lines[0]).toMatch(/^\[started\] \{"model":"kit\/nano",/);
  expect(lines).toContainEqual(expect.stringMatching(/^\[log\] step=24 loss=\d/));
  expect(lines.at(-1)).toMatch(/^\[checkpoint\] \{.*"artifacts\/step-24"/);

  await page.getByRole("link", { name: "Kit" }).click();
  await expect.poll(() => row.locator("td").first().innerText()).toBe("completed");
  await expect.poll(() => button.isEnabled()).toBe(true);
  const printed = await output.textContent();
  expect(printed).toMatch(/evaluated step 12: exactMatch [\d.]+ \(before 0\)/);
  const written = readFileSync(join(project, ".kit/run/output.log"), "utf8");
  expect(printed).toBe(stripVTControlCharacters(written));
  // The box follows its output to the end.
  const hidden = await page.evaluate<number>(
    `(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight)(document.querySelector("pre"))`,
  );
  expect(hidden).toBeLessThan(2);

  await page.getByRole("link", { name: "date-normalizer" }).click();
  await page.getByText("artifacts: 2").waitFor();
  await page.reload();
  await page.getByText("artifacts: 2").waitFor();
  expect(await curve(page)).toEqual(losses);
  expect(await logLines(page)).toEqual(lines);
});
