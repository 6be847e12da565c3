import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { createProject } from "../project.ts";

/** Loaded into a `kit` process to report its heap after garbage collection. */
const COLLECT = `
const { writeFileSync } = require("node:fs");
require("node:v8").setFlagsFromString("--expose-gc");
const gc = require("node:vm").runInNewContext("gc");
let times = 0;
process.on("SIGUSR2", () => {
  gc();
  setImmediate(() => {
    gc();
    writeFileSync(process.env.HEAP_FILE, JSON.stringify([++times, process.memoryUsage().heapUsed]));
  });
});
`;

export interface Memory {
  /** Both in MiB. */
  heap: number;
  rss: number;
  /** A count of open files and connections. */
  descriptors: number;
}

/** Measures a `kit` process that is started with its `env`. */
export function createMemoryProbe() {
  const files = createProject({ "collect.cjs": COLLECT, heap: "[0,0]" });
  const heapFile = join(files, "heap");
  const read = () => JSON.parse(readFileSync(heapFile, "utf8") || "[0,0]") as [number, number];
  let times = 0;
  return {
    env: { NODE_OPTIONS: `--require ${join(files, "collect.cjs")}`, HEAP_FILE: heapFile },
    async measure(pid: number): Promise<Memory> {
      process.kill(pid, "SIGUSR2");
      times++;
      await expect.poll(() => read()[0]).toBe(times);
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      return {
        heap: read()[1] / 2 ** 20,
        rss: Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 2 ** 10,
        descriptors: readdirSync(`/proc/${pid}/fd`).length,
      };
    },
  };
}
