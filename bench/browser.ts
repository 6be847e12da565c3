import { type Browser, type CDPSession, type Page, chromium } from "playwright-core";
import { CHROMIUM, CHROMIUM_ARGS } from "./chromium.ts";
import { type Scope, deferToEnd } from "./scope.ts";

/** A Chromium page, and its measurements. */
export interface MeasuredPage {
  page: Page;
  /** Resolves in the first frame in which an expression is true in the page. */
  until: (expression: string) => Promise<void>;
  /** The longest task since the page loaded or `forget` was called, in ms; 0 below 50. */
  longestTask: () => Promise<number>;
  forget: () => Promise<void>;
  /** Size of the JavaScript heap after a garbage collection, in MB. */
  heap: () => Promise<number>;
}

const VIEWPORT = { width: 1280, height: 800 };

/** Runs in the page before its own code. */
const WATCH = `
  globalThis.longTasks = [];
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) globalThis.longTasks.push(duration);
  }).observe({ entryTypes: ["longtask"] });`;

/** Shared by all rows. A crash fails only its own row. */
let browser: Promise<Browser> | undefined;

function launch(): Promise<Browser> {
  const launched = chromium.launch({
    executablePath: CHROMIUM,
    args: CHROMIUM_ARGS,
  });
  const forget = () => (browser = undefined);
  launched.then((running) => {
    running.once("disconnected", forget);
    deferToEnd(() => running.close());
  }, forget);
  return launched;
}

/** Opens a page without a cache in its own process; closed at the end. */
export async function openPage({ defer }: Scope): Promise<MeasuredPage> {
  const context = await (await (browser ??= launch())).newContext({ viewport: VIEWPORT });
  defer(() => context.close());
  const page = await context.newPage();
  await page.addInitScript(WATCH);
  return watch(page, await context.newCDPSession(page));
}

async function watch(page: Page, session: CDPSession): Promise<MeasuredPage> {
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
