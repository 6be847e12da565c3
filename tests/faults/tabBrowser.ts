import { spawn } from "node:child_process";
import { once } from "node:events";
import { type BrowserContext, type Page, chromium } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { CHROMIUM, CHROMIUM_ARGS } from "../../bench/chromium.ts";
import { createProject } from "../project.ts";

/**
 * A Chromium whose tabs are hidden when they are not in front, as a user's are: Playwright's own
 * browsers pretend to every page that it is visible.
 * @returns opens a tab in front of the others
 */
export async function startTabBrowser(): Promise<(url: string) => Promise<Page>> {
  const profile = createProject();
  const child = spawn(
    CHROMIUM,
    [
      "--headless=new",
      ...CHROMIUM_ARGS,
      // No tab of its own, which a connection may meet half begun.
      ...["--no-first-run", "--no-startup-window"],
      ...["--remote-debugging-port=0", `--user-data-dir=${profile}`],
    ],
    // A group of its own, for its processes write to the profile until they are gone.
    { stdio: ["ignore", "ignore", "pipe"], detached: true },
  );
  const ended = once(child, "close");
  onTestFinished(async () => {
    process.kill(-(child.pid ?? 0), "SIGKILL");
    await ended;
  });
  const address = await new Promise<string>((resolve, reject) => {
    let said = "";
    child.stderr.on("data", (chunk) => {
      said += String(chunk);
      const found = /DevTools listening on (ws:\S+)/.exec(said)?.[1];
      if (found) resolve(found);
    });
    void ended.then(() => reject(new Error(`Chromium ended:\n${said}`)));
  });
  const browser = await chromium.connectOverCDP(address, { noDefaults: true });
  const context = browser.contexts()[0] as BrowserContext;
  const errors: string[] = [];
  onTestFinished(async () => {
    await browser.close();
    expect(errors).toEqual([]);
  });
  return async (url) => {
    const page = await context.newPage();
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.goto(url);
    return page;
  };
}

/** Puts a tab in front, and checks that it alone is visible. */
export async function show(tab: Page, tabs: readonly Page[]): Promise<void> {
  await tab.bringToFront();
  for (const each of tabs) {
    await expect
      .poll(() => each.evaluate<boolean>("document.hidden"), { timeout: 20_000 })
      .toBe(each !== tab);
  }
}

/** Text of a tab's element; it need not be visible, nor painted. */
export function textIn(tab: Page, selector: string): Promise<string> {
  return tab.evaluate<string>(
    `document.querySelector(${JSON.stringify(selector)})?.textContent ?? ""`,
  );
}
