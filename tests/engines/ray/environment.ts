import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type * as source from "../../../engines/ray/index.ts";
import type { Engine } from "../../../protocol/engine.ts";
import type { RayOptions } from "../../../protocol/engineOptions.ts";
import type { Scratch } from "../scratch.ts";

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

/** What the cluster is told to do to itself; `lose` ends the newest node. */
export type Command = "add" | "add gpu" | "add lacking" | "lose" | "behead";

export interface RayCluster {
  /** The dashboard's URL. */
  address: string;
  /** What it writes lies there, but for its storage. */
  folder: string;
  tell: (command: Command) => Promise<void>;
  close: () => Promise<void>;
}

/** What a test of the cluster needs. */
export interface Place {
  cluster: RayCluster;
  scratch: Scratch;
  /** What all nodes see. */
  storage: string;
  createEngine: (options?: RayOptions) => Engine;
}

/** Starts a cluster of two nodes, of six CPUs each, which asks for `TOKEN`. */
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
  const place = JSON.parse(await next()) as Pick<RayCluster, "address" | "folder">;
  return {
    ...place,
    async tell(command) {
      program.stdin.write(`${command}\n`);
      await next();
    },
    async close() {
      program.stdin.end();
      await ended;
    },
  };
}
