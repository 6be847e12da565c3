// `npm start`: sets up missing parts, then runs `kit ui` on the quickstart.
import { CLI, makeQuickstart, setUp } from "./setup.mjs";

await setUp();
const project = makeQuickstart();

// Runs in this process, so that signals reach `kit ui` directly.
process.argv = [process.execPath, CLI, "ui", "--project", project, ...process.argv.slice(2)];
await import("../dist/cli/kit.js");
