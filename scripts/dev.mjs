// `npm run dev`: the page with hot reload over a real `kit ui` on the quickstart.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "vite";
import { ROOT, run, setUp } from "./setup.mjs";

const PROJECT = join(ROOT, "quickstart");
const CLI = join(ROOT, "dist", "cli", "kit.js");

setUp();
if (!existsSync(PROJECT)) run(process.execPath, CLI, "init", PROJECT);
const backend = spawn(
  process.execPath,
  [CLI, "ui", "--project", PROJECT, "--port", "0", "--no-open"],
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
