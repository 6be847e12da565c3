// Bundles `bench/` (Node 20 can't run TypeScript) and runs it. Needs everything set up.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { ROOT, run } from "./setup.mjs";

const outdir = join(ROOT, "node_modules", ".cache", "kit", "bench");
const programs = readdirSync(join(ROOT, "bench", "programs")).map((name) => `programs/${name}`);
await build({
  absWorkingDir: join(ROOT, "bench"),
  entryPoints: ["main.ts", ...programs],
  outdir,
  outbase: ".",
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  packages: "external",
});
process.exitCode = run(process.execPath, join(outdir, "main.js"), ...process.argv.slice(2));
