import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { join } from "node:path";
import { type Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { forwardPort } from "../forward.ts";
import { createTinyProject } from "../kit.ts";
import { openPage, runButton, train, useBrowser } from "./browser.ts";
import { startKitUi } from "./kitUi.ts";

useBrowser();

const TOKEN = "a-token-that-stands-out";
const OPEN_TO_ALL = { options: ["--host", "0.0.0.0"], env: { KIT_UI_TOKEN: TOKEN, DEBUG: "kit" } };

/** Records a page's requests and responses; returns those that contain the token. */
function watchFor(token: string, page: Page): () => Promise<string[]> {
  const all: Promise<string>[] = [];
  page.on("response", (response) => {
    const headers = [response.request().allHeaders(), response.allHeaders()];
    all.push(Promise.all(headers).then((both) => JSON.stringify([response.url(), both])));
  });
  return async () => (await Promise.all(all)).filter((message) => message.includes(token));
}

/** The contents of all files in a project's `.kit`. */
function filesOf(project: string): string[] {
  const folder = join(project, ".kit");
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
}

test("the token is nowhere but in the printed link, and the cookie outlives a restart", async () => {
  const project = createTinyProject();
  const kit = await startKitUi(project, 0, OPEN_TO_ALL);
  const forward = await forwardPort({ host: "127.0.0.1", port: kit.port });
  const url = `http://localhost:${forward}/`;
  const page = await openPage(url);
  const leaks = watchFor(TOKEN, page);
  const link = `${url}?token=${TOKEN}`;
  await page.goto(link);
  expect(page.url()).toBe(`${url}#/`);
  await train(page);
  expect(await page.content()).not.toContain(TOKEN);
  expect(await page.evaluate("document.referrer + document.cookie")).toBe("");
  expect(await leaks()).toEqual([expect.stringContaining(JSON.stringify(link))]);

  kit.process.kill("SIGTERM");
  const { stdout, stderr } = await kit.ended;
  const printed = (stdout + stderr).split(TOKEN).length - 1;
  expect(printed).toBe((stdout + stderr).match(/http:\/\//g)?.length);
  const files = filesOf(project);
  expect(files.length).toBeGreaterThan(5);
  expect(files.filter((text) => text.includes(TOKEN))).toEqual([]);

  await startKitUi(project, kit.port, OPEN_TO_ALL);
  await page.goto(url);
  await expect.poll(() => runButton(page).innerText()).toBe("Run training: tiny");
});

test("a link with the token on another site opens the page, and back leads there again", async () => {
  const kit = await startKitUi(createTinyProject(), 0, OPEN_TO_ALL);
  const site = createServer((_, response) => {
    response.setHeader("Content-Type", "text/html");
    response.end(`<!doctype html><a href="${kit.url}">Kit</a>`);
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void site.close());
  await once(site, "listening");
  const page = await openPage(`http://other.example:${(site.address() as AddressInfo).port}/`);
  await page.getByRole("link", { name: "Kit" }).click();
  await expect.poll(() => runButton(page).innerText()).toBe("Run training: tiny");
  expect(page.url()).toBe(`http://127.0.0.1:${kit.port}/#/`);
  expect(await page.evaluate("document.referrer")).not.toContain(TOKEN);
  await page.goBack();
  await page.getByRole("link", { name: "Kit" }).waitFor();
});
