// `npm start`: sets up what is missing, then runs `kit ui` on the quickstart.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT, run, setUp } from "./setup.mjs";

const PROJECT = join(ROOT, "quickstart");
const CLI = join(ROOT, "dist", "cli", "kit.js");

setUp();
if (!existsSync(join(PROJECT, "package.json"))) run(process.execPath, CLI, "init", PROJECT);

// In this process, so that signals reach it as they reach any `kit ui`.
process.argv = [process.execPath, CLI, "ui", "--project", PROJECT, ...process.argv.slice(2)];
await import("../dist/cli/kit.js");
