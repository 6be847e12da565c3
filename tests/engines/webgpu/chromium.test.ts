import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { type Browser, type Page, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CHROMIUM, CHROMIUM_ARGS } from "../../../bench/chromium.ts";
import { HAS_WEBGPU } from "./device.ts";
import { CASES } from "./kernels/cases.ts";

/** Chromium's own SwiftShader; as in Kit, without clearing a workgroup's memory first. */
const WEBGPU_ARGS = [
  "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader",
  "--enable-dawn-features=disable_workgroup_init",
];
/** WebGPU is only for secure pages. */
const URL_OF_PAGE = "https://kit.example/";

describe.runIf(HAS_WEBGPU)("kernels in Chromium", () => {
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    const entry = fileURLToPath(new URL("kernels/page.ts", import.meta.url));
    const options = { bundle: true, write: false, format: "esm", platform: "browser" } as const;
    // Fails if anything that the kernels need imports a module of Node.
    const { outputFiles } = await build({ ...options, entryPoints: [entry], target: "esnext" });
    const body = `<script type="module">${outputFiles[0]!.text}</script>`;
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: [...CHROMIUM_ARGS, ...WEBGPU_ARGS],
    });
    page = await browser.newPage();
    await page.route(URL_OF_PAGE, (route) => route.fulfill({ contentType: "text/html", body }));
    await page.goto(URL_OF_PAGE);
    await page.waitForFunction("globalThis.faultsOf");
  });
  afterAll(() => browser.close());

  test.each(CASES)("$name: as plain loops", async ({ name }) => {
    expect(await page.evaluate(`faultsOf(${JSON.stringify(name)})`)).toEqual([]);
  });
});
