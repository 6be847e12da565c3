#!/usr/bin/env node
import { oldRuntime } from "./runtime.ts";

// First, because an older Node doesn't load the rest.
const problem = oldRuntime(process.versions);
if (problem === undefined) await import("./program.ts");
else {
  process.stderr.write(`kit: ${problem}\n`);
  process.exitCode = 1;
}
