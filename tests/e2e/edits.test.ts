import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { createTinyProject, runKit, tinySource } from "../kit.ts";
import { openPage, runButton, useBrowser } from "./browser.ts";
import { startKitUi } from "./kitUi.ts";

useBrowser();

/** Clicks, waits for the end of the run and returns the name of its job. */
async function clickAndWait(page: Page): Promise<string | undefined> {
  const output = page.getByLabel("Output of kit start");
  await expect.poll(() => runButton(page).isEnabled()).toBe(true);
  await runButton(page).click();
  // Disabled from the click to the end of the run.
  await expect.poll(() => runButton(page).isEnabled()).toBe(true);
  expect(await output.innerText()).toMatch(/\ncompleted in /);
  return /^job \S+ (\S+)/m.exec(await output.innerText())?.[1];
}

test("an edit between two clicks changes nothing; a reload takes it up, and so does kit build", async () => {
  const project = createTinyProject(tinySource({ name: "one" }));
  const entry = join(project, "src/kit/index.ts");
  const { url } = await startKitUi(project);
  const page = await openPage(url);
  expect(await clickAndWait(page)).toBe("one");

  writeFileSync(entry, tinySource({ name: "two" }));
  expect(await clickAndWait(page)).toBe("one");

  await page.reload();
  await expect.poll(() => runButton(page).innerText()).toBe("Run training: two");
  expect(await clickAndWait(page)).toBe("two");

  writeFileSync(entry, tinySource({ name: "three" }));
  expect((await runKit(project, ["build"])).code).toBe(0);
  expect(await clickAndWait(page)).toBe("three");
});

test("the button says why a project cannot be read, and works once the project is fixed", async () => {
  const project = createTinyProject(tinySource({ name: "mended" }));
  const entry = join(project, "src/kit/index.ts");
  const { url } = await startKitUi(project);
  const page = await openPage(url);
  const cases: [source: string, label: string][] = [
    ["const one = ;", `Couldn't read manifest: src/kit/index.ts:1:13: Unexpected ";"`],
    [
      `import { createKit } from "kit"; export default createKit();`,
      "No trainer in src/kit/index.ts yet. Add createTrainer(...) and pass it to createKit.",
    ],
  ];
  for (const [source, label] of cases) {
    writeFileSync(entry, source);
    await page.reload();
    await expect.poll(() => runButton(page).innerText()).toBe(label);
    expect(await runButton(page).isDisabled()).toBe(true);
  }
  writeFileSync(entry, tinySource({ name: "mended" }));
  await page.reload();
  await expect.poll(() => runButton(page).isEnabled()).toBe(true);
});

test("a job that fails shows its error in the output, the list and its page", async () => {
  const project = createTinyProject();
  writeFileSync(join(project, "data.jsonl"), '{"prompt":"1","completion":"1"}\n{"prompt":\n');
  const { url } = await startKitUi(project);
  const page = await openPage(url);
  await runButton(page).click();
  const output = page.getByLabel("Output of kit start");
  await expect.poll(() => output.innerText()).toMatch(/failed: .*data\.jsonl:2/);
  const row = page.locator("tbody tr");
  await expect.poll(() => row.locator("td").first().innerText()).toBe("failed");
  expect(await row.locator("td").first().getAttribute("class")).toContain("status-failed");
  await row.click();
  await expect
    .poll(() => page.locator(".outcome").innerText())
    .toMatch(/^failed\s+\S*data\.jsonl:2/);
  await page.getByText("No training.log events yet.").waitFor();
});
