import { expect, test } from "vitest";
import { snippets } from "../docs/containers.ts";
import { forwardPort } from "../forward.ts";
import { createTinyProject, pacedSource } from "../kit.ts";
import { serveWithNginx } from "../nginx.ts";
import { openPage, runButton, useBrowser } from "./browser.ts";
import { type KitUi, startKitUi } from "./kitUi.ts";

useBrowser();

/** Another app, whose path begins with the same letters. */
const SIBLING =
  'location /proxy/40001/ { default_type text/plain; return 200 "cookies: $http_cookie."; }';

/** Puts nginx in front as the docs say. It passes names on like JupyterHub's proxy. */
async function proxy({ port }: KitUi): Promise<string> {
  const [location = ""] = snippets("nginx");
  const there = "http://127.0.0.1:4000/";
  expect(location).toContain(there);
  const ours = location.replace(there, `http://127.0.0.1:${port}/`);
  const path = await serveWithNginx(`${ours} ${SIBLING}`);
  return `http://hub.example:${await forwardPort({ path })}/proxy/4000/`;
}

test("behind nginx under a path the whole page works, and streams", async () => {
  const project = createTinyProject(pacedSource());
  const kit = await startKitUi(project, 0, { options: ["--allowed-host", "hub.example"] });
  const url = await proxy(kit);
  const page = await openPage(url);
  expect(page.url()).toBe(`${url}#/`);
  const asked: string[] = [];
  const accepted: (string | undefined)[] = [];
  page.on("request", (request) => {
    asked.push(request.url());
    if (request.url() === `${url}api/train`) accepted.push(request.headers().accept);
  });
  await page.reload();
  await expect.poll(() => runButton(page).innerText()).toBe("Run training: tiny");
  await runButton(page).click();
  // All of this is shown while the run goes on.
  await page.getByText(/step +50\//).waitFor();
  await page.locator("tbody tr").first().click();
  // Which steps the last 50 lines hold depends on how fast the machine is.
  const log = page.getByText(/\[log\] step=\d+ loss=/);
  await log.waitFor();
  const seen = await log.innerText();
  await expect.poll(() => log.innerText()).not.toBe(seen);
  expect(await page.locator(".outcome").innerText()).toBe("running");
  await page.reload();
  await log.waitFor();
  // JupyterHub's proxy streams only these responses; nginx streams all of them.
  expect(new Set(accepted)).toEqual(new Set(["text/event-stream"]));
  expect(asked.length).toBeGreaterThan(5);
  expect(asked.filter((one) => !one.startsWith(url))).toEqual([]);
});

test("behind nginx the token's cookie goes to the path alone", async () => {
  const options = ["--allowed-host", "hub.example"];
  const env = { KIT_UI_TOKEN: "a-token-that-is-asked-for" };
  const kit = await startKitUi(createTinyProject(), 0, { options, env });
  const url = await proxy(kit);
  const page = await openPage(url + new URL(kit.url).search);
  await expect.poll(() => runButton(page).innerText()).toBe("Run training: tiny");
  expect(page.url()).toBe(`${url}#/`);
  expect(await page.context().cookies()).toMatchObject([
    { path: "/proxy/4000", httpOnly: true, sameSite: "Strict" },
  ]);
  const sibling = await page.goto(new URL("../40001/", url).href);
  expect(String(await sibling?.body())).toBe("cookies: .");
});

test("at a path without a slash at its end, the page says why it is empty", async () => {
  const { port } = await startKitUi(createTinyProject(), 0, {
    options: ["--allowed-host", "hub.example"],
  });
  const path = await serveWithNginx(
    `location = /kit { proxy_pass http://127.0.0.1:${port}/; proxy_set_header Host $http_host; }`,
  );
  const page = await openPage(`http://hub.example:${await forwardPort({ path })}/kit`);
  expect(await page.locator("body").innerText()).toContain("end the path with a slash.");
});
