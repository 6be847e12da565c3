import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createTinyProject } from "../kit.ts";
import { openPage, train, useBrowser } from "./browser.ts";
import { startKitUi } from "./kitUi.ts";

useBrowser();

/** A site with one page. Returns its port. */
async function startSite(html: string): Promise<number> {
  const server = createServer((_, response) => {
    response.writeHead(200, { "Content-Type": "text/html" }).end(html);
  });
  onTestFinished(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** A foreign page's attempts. Its title says when it has tried all of them. */
function attack(kit: string): string {
  return `<!doctype html><iframe name="framed" src="${kit}"></iframe><iframe name="into"></iframe>
<form method="post" target="into" action="${kit}api/train"></form><script type="module">
const read = [];
for (const mode of ["cors", "no-cors", "same-origin"]) {
  for (const [method, path] of [["POST", "api/train"], ["GET", "api/jobs"], ["GET", "api/manifest"]]) {
    await fetch("${kit}" + path, { method, mode }).then(
      async (answer) => { if (await answer.text()) read.push(mode + " " + path); }, () => {});
  }
}
await new Promise((done) => {
  const source = new EventSource("${kit}api/jobs/20260101-000000-000-aaaa/events");
  source.onopen = () => { read.push("events"); done(); };
  source.onerror = done;
});
for (const tag of ["img", "script"]) await new Promise((done) => {
  const element = document.createElement(tag);
  element.onload = () => { read.push(tag); done(); };
  element.onerror = done;
  element.src = "${kit}api/train";
  document.body.append(element);
});
document.forms[0].submit();
await new Promise((done) => document.querySelector("[name=into]").addEventListener("load", done));
document.title = "tried: " + read.join(", ");
</script>`;
}

test.each(["evil.example", "localhost"])(
  "a page of %s on another port starts nothing, reads nothing and frames nothing",
  async (name) => {
    const project = createTinyProject();
    const { url } = await startKitUi(project);
    const site = await startSite(attack(url));
    const page = await openPage(`http://${name}:${site}/`);
    await expect.poll(() => page.title()).toBe("tried:");
    expect(await page.frame("framed")?.title()).not.toBe("Kit");
    expect(await page.frame("framed")?.locator("#app").count()).toBe(0);
    expect(existsSync(join(project, ".kit"))).toBe(false);
  },
);

test("a foreign name that resolves to this machine is refused, with the option that allows it", async () => {
  const { port } = await startKitUi(createTinyProject());
  const page = await openPage(`http://rebound.example:${port}/`);
  expect(await page.locator("h1").innerText()).toBe("Kit");
  expect(await page.locator("p").innerText()).toContain("--allowed-host rebound.example");
});

test("everything works through other names and addresses of this machine", async () => {
  const { port } = await startKitUi(createTinyProject());
  // tests/e2e/container.test.ts goes by localhost and 127.0.0.1.
  for (const name of ["[::1]", "my-app.localhost"]) {
    await train(await openPage(`http://${name}:${port}/`));
  }
});
