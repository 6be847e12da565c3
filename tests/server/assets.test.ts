import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { loadAssets } from "../../server/assets.ts";
import { createProject } from "../project.ts";
import { PAGE, askRaw, startServer } from "../uiServer.ts";

test.each([
  ["/", "index.html", "text/html; charset=utf-8"],
  ["/?token=1", "index.html", "text/html; charset=utf-8"],
  ["/index.html", "index.html", "text/html; charset=utf-8"],
  ["/assets/app-1a2b.js", "assets/app-1a2b.js", "text/javascript; charset=utf-8"],
  ["/assets/app-1a2b.css", "assets/app-1a2b.css", "text/css; charset=utf-8"],
  ["/favicon/none.svg", "favicon/none.svg", "image/svg+xml"],
] as const)("%s is the page's %s", async (target, file, type) => {
  const { port } = await startServer();
  const { status, headers, body } = await askRaw(port, target);
  expect(status).toBe(200);
  expect(headers["content-type"]).toBe(type);
  expect(body).toBe(PAGE[file]);
});

test("the index names the project's folder, whatever it is called", () => {
  const folder = createProject({ "index.html": '<!doctype html>\n<html lang="en"></html>' });
  let sent = "";
  const response = { writeHead() {}, end: (body: Buffer) => (sent = body.toString()) };
  const name = `a "b" & $& <i>`;
  loadAssets(folder, name).serve("/", response as unknown as ServerResponse);
  expect(sent).toBe(
    '<!doctype html>\n<html data-project="a &#34;b&#34; &#38; $&#38; <i>" lang="en"></html>',
  );
});

test("browsers revalidate the index and icons, and keep the files whose names have a hash", async () => {
  const { port } = await startServer();
  for (const path of ["/", "/favicon/none.svg"])
    expect((await askRaw(port, path)).headers["cache-control"]).toBe("no-cache");
  const script = await askRaw(port, "/assets/app-1a2b.js");
  expect(script.headers["cache-control"]).toContain("immutable");
});

test("HEAD answers with the length and no body", async () => {
  const { port } = await startServer();
  const { status, headers, body } = await askRaw(port, "/", "HEAD");
  expect(status).toBe(200);
  expect(headers["content-length"]).toBe(String(PAGE["index.html"].length));
  expect(body).toBe("");
});

test.each([
  "/nothing",
  "/assets",
  "/assets/",
  "/secret.txt",
  "/index%2ehtml",
  "/api",
  "/api/",
  "/api/jobs/",
  "/__proto__",
  "/constructor",
])("%s is not there, and says so", async (target) => {
  const outer = createProject({
    "secret.js": "secret",
    "page/index.html": "",
    "page/secret.txt": "",
  });
  const { port } = await startServer({ page: `${outer}/page` });
  const { status, body } = await askRaw(port, target);
  expect(status).toBe(404);
  const { error } = JSON.parse(body) as { error: string };
  expect(error).toMatch(/^There is nothing at /);
});

test.each([
  ["POST", "/api/manifest", "GET"],
  ["POST", "/api/jobs", "GET"],
  ["HEAD", "/api/train", "POST, GET"],
  ["POST", "/api/jobs/20260101-000000-000-aaaa/events", "GET"],
  ["POST", "/", "GET, HEAD"],
  ["POST", "/index.html", "GET, HEAD"],
  ["POST", "/assets/app-1a2b.js", "GET, HEAD"],
])("%s %s is 405 and names what is allowed: %s", async (method, target, allowed) => {
  const { port } = await startServer();
  const { status, headers, body } = await askRaw(port, target, method);
  expect(status).toBe(405);
  expect(headers.allow).toBe(allowed);
  if (method !== "HEAD") expect(body).toContain('{"error":"Use ');
});

test("a page that is not built is an error with the next step", () => {
  for (const folder of [createProject(), "/nowhere"]) {
    expect(() => loadAssets(folder, "")).toThrow(
      expect.objectContaining({ code: "PAGE_NOT_BUILT", message: expect.stringContaining(folder) }),
    );
  }
});
