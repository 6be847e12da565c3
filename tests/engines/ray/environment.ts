import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type * as source from "../../../engines/ray/index.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const CLUSTER = fileURLToPath(new URL("cluster.py", import.meta.url));

/** The Python that `npm run test:ray` makes. */
export const PYTHON = join(ROOT, ".ray", "bin", "python");
/** Written when it is complete. */
export const hasRay = existsSync(join(ROOT, ".ray", "kit-requirements.txt"));

/** What the tests' cluster asks for. */
export const TOKEN = "0123456789abcdef0123456789abcdef";

/** As it is built, beside its Python files. */
export const { createRayEngine } = (await import(
  new URL("../../../dist/engines/ray/index.js", import.meta.url).href
)) as typeof source;

export interface RayCluster {
  /** The dashboard's URL. */
  address: string;
  /** Of the process that holds the cluster. */
  pid: number;
  /** Ends the second of its two nodes. */
  loseNode: () => Promise<void>;
  close: () => Promise<void>;
}

/** Starts a cluster of two nodes, of two CPUs each, which asks for `TOKEN`. */
export async function startCluster(): Promise<RayCluster> {
  const token = { RAY_AUTH_MODE: "token", RAY_AUTH_TOKEN: TOKEN };
  const program = spawn(PYTHON, ["-B", CLUSTER], {
    stdio: ["pipe", "pipe", process.env["DEBUG"] === "kit" ? "inherit" : "ignore"],
    env: { ...process.env, ...token },
  });
  const lines = createInterface(program.stdout)[Symbol.asyncIterator]();
  const ended = once(program, "exit");
  async function next(): Promise<string> {
    const { value, done } = await lines.next();
    if (done) throw new Error("The cluster did not start. Run with DEBUG=kit to see why.");
    return value;
  }
  const { address } = JSON.parse(await next()) as { address: string };
  return {
    address,
    pid: program.pid ?? 0,
    async loseNode() {
      program.stdin.write("lose\n");
      await next();
    },
    async close() {
      program.stdin.end();
      await ended;
    },
  };
}
