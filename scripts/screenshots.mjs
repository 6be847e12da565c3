// `npm run screenshots`: takes pictures of a real run of the quickstart, light and dark, and records their words,
// which tests/quickstart.test.ts compares with the current page's.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { wordsOf } from "./pageWords.mjs";
import { CLI, ROOT, run, setUp } from "./setup.mjs";

const DOCS = join(ROOT, "docs");
/** Matches the output shortly after the checkpoint of step 200. */
const HALF_WAY = /\ncheckpoint .*\n(.*\n)*checkpoint .*step-200\n(.*\n){12}/;
const words = {};

await setUp();
const folder = mkdtempSync(join(tmpdir(), "kit-screenshots-"));
const project = join(folder, "quickstart");
run(process.execPath, CLI, "init", project);
const ui = spawn(process.execPath, [CLI, "ui", "--port", "0", "--no-open", "--project", project]);
const [line] = await once(ui.stdout, "data");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-quic", "--disable-background-networking"],
});
const page = await browser.newPage({
  viewport: { width: 1280, height: 680 },
  deviceScaleFactor: 1.5,
});
try {
  await page.goto(String(line).match(/http:\S+/)[0]);
  await page.getByRole("button", { name: "Run training: date-normalizer" }).click();
  await page.waitForFunction(
    (pattern) => new RegExp(pattern).test(document.querySelector("pre").textContent),
    HALF_WAY.source,
    { timeout: 300_000 },
  );
  await page.locator("tbody tr").waitFor();
  await take("home");
  await page.locator("tbody tr").click();
  await page.getByText("artifacts: ").waitFor({ timeout: 300_000 });
  await take("job");
  writeFileSync(join(DOCS, "pictures.json"), `${JSON.stringify(words, null, 2)}\n`);
} finally {
  await browser.close();
  ui.kill("SIGTERM");
  await once(ui, "exit");
  rmSync(folder, { recursive: true, force: true });
}

/** Takes a page's picture in the dark and the light colour scheme, and its words. */
async function take(name) {
  words[name] = wordsOf(await page.locator("body").innerText());
  for (const [colorScheme, suffix] of [
    ["dark", "-dark"],
    ["light", ""],
  ]) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(DOCS, `${name}${suffix}.png`) });
  }
}
