// `npm run dev`: serves the page with hot reload, over a real `kit ui` on the quickstart.
import { spawn } from "node:child_process";
import { createServer } from "vite";
import { CLI, ROOT, makeQuickstart, setUp } from "./setup.mjs";

await setUp();
const project = makeQuickstart();
const backend = spawn(
  process.execPath,
  [CLI, "ui", "--project", project, "--port", "0", "--no-open"],
  { stdio: ["inherit", "pipe", "inherit"] },
);
backend.once("exit", (code) => process.exit(code ?? 1));
const [line] = await new Promise((resolve) =>
  backend.stdout.once("data", (data) => resolve([String(data)])),
);
const target = line.match(/http:\S+/)[0];
const page = await createServer({ root: ROOT, server: { proxy: { "/api": { target } } } });
await page.listen();
page.printUrls();
