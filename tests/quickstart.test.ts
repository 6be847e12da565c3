import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadModel } from "kit";
import { expect, test } from "vitest";
import { wordsOf } from "../scripts/pageWords.mjs";
import { openPage, runButton, useBrowser } from "./e2e/browser.ts";
import { startKitUi } from "./e2e/kitUi.ts";
import { askLlama, hasLlama } from "./engines/gguf/llama.ts";
import { GATED, openGate, runKit } from "./kit.ts";
import { createProject } from "./project.ts";
import { askInPage } from "./wllama.ts";

useBrowser();

/** Asked of llama.cpp, and of it in a browser, too. */
const SHARED = 20;
const IN_PAGE = 5;
/** Words of the pages that the README's pictures are of. */
const PICTURED = JSON.parse(
  readFileSync(new URL("../docs/pictures.json", import.meta.url), "utf8"),
) as { home: string[]; job: string[] };

test("the quickstart looks as in its pictures, normalizes at least 90 % of the held-out dates exactly, and the same in llama.cpp and in a page", async () => {
  const folder = createProject();
  await runKit(folder, ["init", "quickstart"]);
  const project = join(folder, "quickstart");
  await trainAsPictured(project);

  const artifacts = join(project, ".kit/jobs", onlyEntry(join(project, ".kit/jobs")), "artifacts");
  const last =
    readdirSync(artifacts)
      .sort((a, b) => stepOf(a) - stepOf(b))
      .at(-1) ?? "";
  const model = await loadModel(join(artifacts, last));
  const rows = readRows(join(project, "data/heldout.jsonl"));
  const wrong: string[] = [];
  const answers: string[] = [];
  for (const { prompt, completion } of rows) {
    const { text } = await model.infer({ prompt });
    answers.push(text);
    if (text !== completion) wrong.push(`${prompt} → ${text}`);
  }
  await model.close();

  expect(rows).toHaveLength(200);
  console.log(`quickstart: ${rows.length - wrong.length} of ${rows.length} held-out dates exact`);
  expect(wrong.length).toBeLessThanOrEqual(20);

  const words = ["export", "latest", "dates", "--format", "gguf", "--type", "f16"];
  expect(await runKit(project, words)).toMatchObject({ code: 0, stderr: "" });
  const file = join(project, "dates/date-normalizer.gguf");
  // Through the chat template in the file; no answer goes on after its end.
  const questions = rows.slice(0, SHARED).map(({ prompt }) => prompt);
  const asked = questions.slice(0, IN_PAGE);
  expect(await askInPage(file, asked)).toEqual(answers.slice(0, IN_PAGE));
  if (!hasLlama) return;
  const told = await askLlama({ file, questions });
  expect(told.answers).toEqual(
    answers.slice(0, SHARED).map((text) => ({ text, stopReason: "eogToken" })),
  );
});

/** Trains by the page, whose words must be those of the pictures: `npm run screenshots` renews them. */
async function trainAsPictured(project: string): Promise<void> {
  const file = join(project, "src/kit/trainer.ts");
  const waiting = "callbacks: { onCompleted: () => gate() }";
  const source = readFileSync(file, "utf8").replace(/(?=\n\}\);)/, `\n  ${waiting},`);
  writeFileSync(file, `${GATED}${source}`);
  const { url } = await startKitUi(project, 0, { env: { KIT_THREADS: undefined } });
  const page = await openPage(url);
  const words = async () => wordsOf(await page.locator("body").innerText());
  await runButton(page).click();
  await page.getByText("evaluated step 400: ").waitFor();
  await page.locator("tbody tr").waitFor();
  await expect.poll(words).toEqual(PICTURED.home);
  openGate(project);
  await page.locator("tbody tr").click();
  await page.getByText("artifacts: 4").waitFor();
  await expect.poll(words).toEqual(PICTURED.job);
}

function readRows(path: string): { prompt: string; completion: string }[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { prompt: string; completion: string });
}

function stepOf(name: string): number {
  return Number(name.replace("step-", ""));
}

function onlyEntry(directory: string): string {
  const [name, ...others] = readdirSync(directory);
  expect(others).toEqual([]);
  return name ?? "";
}
