import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, type Page, chromium } from "playwright-core";
import { beforeAll, expect, onTestFinished } from "vitest";
import { CHROMIUM, CHROMIUM_ARGS } from "../../bench/chromium.ts";
import { PATIENCE_MS } from "../patience.ts";

/**
 * A Chromium for the tests of a file, whose tabs are hidden when they are not in front, as a user's
 * are: Playwright's own browsers pretend to every page that it is visible.
 * @returns opens a tab in front of the others; it closes when the test has finished
 */
export function useTabBrowser(): (url: string) => Promise<Page> {
  let context: BrowserContext;
  beforeAll(async () => {
    const profile = mkdtempSync(join(tmpdir(), "kit-tabs-"));
    const { address, end } = await startChromium(profile);
    const browser = await chromium.connectOverCDP(address, { noDefaults: true });
    context = browser.contexts()[0] as BrowserContext;
    context.setDefaultTimeout(PATIENCE_MS);
    return async () => {
      await browser.close();
      await end();
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    };
  });
  return async (url) => {
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    onTestFinished(async () => {
      await page.close();
      expect(errors).toEqual([]);
    });
    await page.goto(url);
    return page;
  };
}

/** Starts a Chromium without a tab of its own, which a connection may meet half begun. */
async function startChromium(profile: string) {
  const child = spawn(
    CHROMIUM,
    [
      ...["--headless=new", ...CHROMIUM_ARGS, "--no-first-run", "--no-startup-window"],
      ...["--remote-debugging-port=0", `--user-data-dir=${profile}`],
    ],
    // A group of its own, for its processes write to the profile until they are gone.
    { stdio: ["ignore", "ignore", "pipe"], detached: true },
  );
  const ended = once(child, "close");
  const address = await new Promise<string>((resolve, reject) => {
    let said = "";
    child.stderr.on("data", (chunk) => {
      said += String(chunk);
      const found = /DevTools listening on (ws:\S+)/.exec(said)?.[1];
      if (found) resolve(found);
    });
    void ended.then(() => reject(new Error(`Chromium ended:\n${said}`)));
  });
  const end = async () => {
    process.kill(-(child.pid ?? 0), "SIGKILL");
    await ended;
  };
  return { address, end };
}

/** Puts a tab in front, and checks that it alone is visible. */
export async function show(tab: Page, tabs: readonly Page[]): Promise<void> {
  await tab.bringToFront();
  for (const each of tabs) {
    await expect.poll(() => each.evaluate<boolean>("document.hidden")).toBe(each !== tab);
  }
}

/** Text of a tab's element; it need not be visible, nor painted. */
export function textIn(tab: Page, selector: string): Promise<string> {
  return tab.evaluate<string>(
    `document.querySelector(${JSON.stringify(selector)})?.textContent ?? ""`,
  );
}
