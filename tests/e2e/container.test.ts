import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { createContainer, leadToLoopback, withoutLoopback } from "../container.ts";
import { forwardPort } from "../forward.ts";
import { createTinyProject } from "../kit.ts";
import { openPage, train, useBrowser } from "./browser.ts";
import { startKitUi } from "./kitUi.ts";

useBrowser();

/** Free: each container has its own ports. */
const PORT = 4000;

test("kit ui --port 4000 --host 0.0.0.0 in a container trains and streams outside of it", async () => {
  const { address, enter } = await createContainer();
  const kit = await startKitUi(createTinyProject(), PORT, {
    options: ["--host", "0.0.0.0"],
    within: enter,
  });
  expect(kit.url).toMatch(/^http:\/\/127\.0\.0\.1:4000\/\?token=[\w-]{32}$/);
  const link = new URL(kit.url);

  // As a container's engine publishes it, under another number.
  link.port = String(await forwardPort({ host: address, port: PORT }));
  expect((await fetch(link.origin)).status).toBe(401);
  const page = await openPage(link.href);
  expect(page.url()).toBe(`${link.origin}/#/`);
  await train(page);

  // An editor forwards it to its own localhost.
  const named = new URL(link);
  named.hostname = "localhost";
  expect((await openPage(named.href)).url()).toBe(`${named.origin}/#/`);

  const other = new URL(kit.url);
  other.hostname = address;
  const direct = await openPage(other.href);
  expect(direct.url()).toBe(`http://${address}:4000/#/`);
  expect(await direct.locator("tbody tr").first().innerText()).toContain("completed");
});

test("kit ui --port 4000 in a container without IPv6 can only be reached through a forward", async () => {
  const container = await createContainer();
  withoutLoopback(container, "::1/128");
  const { url } = await startKitUi(createTinyProject(), PORT, { within: container.enter });
  expect(url).toBe("http://localhost:4000/");
  const straight = connect({ host: container.address, port: PORT });
  await expect(once(straight, "connect")).rejects.toMatchObject({ code: "ECONNREFUSED" });

  const forward = await forwardPort({ path: await leadToLoopback(container, PORT) });
  await train(await openPage(`http://localhost:${forward}/`));
});
