import { type Browser, type CDPSession, type Page, chromium } from "playwright-core";
import { CHROMIUM, CHROMIUM_ARGS } from "./chromium.ts";
import type { Scope } from "./scope.ts";

/** A page of Chromium, and what it costs. */
export interface Watched {
  page: Page;
  /** Resolves in the first frame in which an expression holds in the page. */
  until: (expression: string) => Promise<void>;
  /** The longest task since the page was loaded or `forget` was called, in milliseconds; 0 below 50. */
  longestTask: () => Promise<number>;
  forget: () => Promise<void>;
  /** Bytes of JavaScript's heap after a collection, in millions. */
  heap: () => Promise<number>;
}

const VIEWPORT = { width: 1280, height: 800 };

/** Runs in the page before its own code. */
const WATCH = `
  globalThis.longTasks = [];
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) globalThis.longTasks.push(duration);
  }).observe({ entryTypes: ["longtask"] });`;

/** Shared by all rows. One that has crashed fails its own row only. */
let browser: Promise<Browser> | undefined;

function launch(): Promise<Browser> {
  const launched = chromium.launch({
    executablePath: CHROMIUM,
    args: CHROMIUM_ARGS,
  });
  const forget = () => (browser = undefined);
  launched.then((running) => running.once("disconnected", forget), forget);
  return launched;
}

/** Opens a page with no cache and in a process of its own; it is closed at the end. */
export async function openPage({ defer }: Scope): Promise<Watched> {
  const context = await (await (browser ??= launch())).newContext({ viewport: VIEWPORT });
  defer(() => context.close());
  const page = await context.newPage();
  await page.addInitScript(WATCH);
  return watch(page, await context.newCDPSession(page));
}

/** Ends the Chromium of all pages. */
export async function closeBrowser(): Promise<void> {
  await (await browser)?.close();
}

async function watch(page: Page, session: CDPSession): Promise<Watched> {
  await session.send("Performance.enable");
  return {
    page,
    until: (expression) =>
      page.evaluate(`new Promise((resolve) => {
        const look = () => ((${expression}) ? resolve() : requestAnimationFrame(look));
        look();
      })`),
    longestTask: () => page.evaluate<number>("Math.max(0, ...longTasks)"),
    forget: () => page.evaluate("longTasks.length = 0"),
    async heap() {
      await session.send("HeapProfiler.collectGarbage");
      const { metrics } = await session.send("Performance.getMetrics");
      return (metrics.find(({ name }) => name === "JSHeapUsedSize")?.value ?? NaN) / 1e6;
    },
  };
}
