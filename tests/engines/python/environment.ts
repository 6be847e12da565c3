import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type * as source from "../../../engines/python/index.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** The Python that `npm run python` makes. */
export const PYTHON = join(ROOT, ".python", "bin", "python");
/** Written when it is complete. */
export const hasPython = existsSync(join(ROOT, ".python", "kit-requirements.txt"));

/** Folder of the engine's own Python files, as built. */
export const ENGINE_FOLDER = join(ROOT, "dist", "engines", "python");

/** As it is built, beside its Python files. */
export const { createPythonEngine } = (await import(
  new URL("../../../dist/engines/python/index.js", import.meta.url).href
)) as typeof source;

/** On a machine that does much else at the same time, threads only wait for each other. */
export const ENV = { OMP_NUM_THREADS: "1" };

/** An interpreter that has torch and transformers imported already. */
export interface WarmPython {
  path: string;
  close: () => Promise<void>;
}

/** What a warm Python imports besides for objectives that compare answers. */
export const TRL = ["trl.trainer.dpo_trainer", "trl.trainer.kto_trainer"];

/** @param modules imported besides */
export async function startWarmPython(...modules: string[]): Promise<WarmPython> {
  const folder = mkdtempSync(join(tmpdir(), "kit-warm-"));
  const here = fileURLToPath(new URL(".", import.meta.url));
  const socket = join(folder, "socket");
  const words = ["-B", join(here, "warmServer.py"), socket, ...modules];
  const server: ChildProcess = spawn(PYTHON, words, {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...ENV },
  });
  await once(server.stdout!, "data");
  const path = join(folder, "python");
  const handed = [PYTHON, "-B", join(here, "warm.py"), socket].map((word) => `'${word}'`);
  writeFileSync(path, `#!/bin/sh\nexec ${handed.join(" ")} "$@"\n`);
  chmodSync(path, 0o755);
  return {
    path,
    async close() {
      server.stdin?.end();
      if (server.exitCode === null && server.signalCode === null) await once(server, "exit");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
