import { type Browser, type Page, chromium } from "playwright-core";
import { beforeAll, expect, onTestFinished } from "vitest";
import { CHROMIUM, CHROMIUM_ARGS } from "../../bench/chromium.ts";
import { PATIENCE_MS } from "../patience.ts";

let starting: Promise<Browser> | undefined;
let browser: Browser;

/** Starts one Chromium for all files of a worker; it ends with the worker. */
export function useBrowser(): void {
  beforeAll(async () => {
    starting ??= chromium.launch({
      executablePath: CHROMIUM,
      args: [...CHROMIUM_ARGS, "--host-resolver-rules=MAP *.example 127.0.0.1"],
    });
    browser = await starting;
  });
}

/** Opens a page in its own context. Any error of the page fails the test. */
export async function openPage(url: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    // Only our page's: a site in a test frames ours on purpose.
    const isOurs = message.location().url.startsWith(url);
    if (isOurs && /Content.Security.Policy/i.test(message.text())) errors.push(message.text());
  });
  onTestFinished(async () => {
    await context.close();
    expect(errors).toEqual([]);
  });
  await page.goto(url);
  return page;
}

/** Reloads the page and holds back all responses until the returned function is called. */
export async function reloadWithoutAnswers(page: Page): Promise<() => Promise<void>> {
  let answer!: () => void;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  await page.route("**/api/**", async (route) => {
    await answered;
    await route.continue();
  });
  await page.reload();
  return async () => {
    answer();
    await page.unrouteAll({ behavior: "wait" });
  };
}

/** The Run training panel's button, by any of its labels. */
export function runButton(page: Page) {
  return page.getByRole("button", { name: /^(Run training: |No trainer in |Couldn't read )/ });
}

/** Runs a tiny project from Home, and follows its job on the job's page to the end. */
export async function train(page: Page): Promise<void> {
  await runButton(page).click();
  await page.locator("tbody tr").first().click();
  await page.getByText("artifacts: 2").waitFor();
}

/** The y coordinates of a chart's path, in the order of its steps. */
export async function curve(page: Page): Promise<number[]> {
  if ((await page.locator("svg[role=img]").count()) === 0) return [];
  const path = (await page.locator("svg[role=img] path").getAttribute("d")) ?? "";
  return [...path.matchAll(/[ML](\S+) (-?[\d.]+)/g)].map(([, , y]) => Number(y));
}

/** The event log's lines. */
export async function logLines(page: Page): Promise<string[]> {
  return (await page.locator("pre").innerText()).split("\n").filter((line) => line !== "");
}
