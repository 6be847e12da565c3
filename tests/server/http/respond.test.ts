import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { sendErrorPage } from "../../../server/http/respond.ts";

test("an error's page shows the error as text, whatever is in it", async () => {
  const server = createServer((_, response) => sendErrorPage(response, 403, `<b>&amp;"</b>`));
  onTestFinished(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/`);
  expect(answer.status).toBe(403);
  expect(await answer.text()).toContain(`<p>&lt;b>&amp;amp;"&lt;/b></p>`);
});
