import type { PythonOptions } from "../../protocol/engineOptions.ts";
import { type Interpreter, findInterpreter } from "./interpreter.ts";

export interface Python {
  /** @throws KitError `PYTHON_NOT_FOUND` */
  find: () => Interpreter;
  env: NodeJS.ProcessEnv;
  /** The option; undefined means the device's default. */
  bf16: boolean | undefined;
}

export function createPython({ path, env: more, bf16 }: PythonOptions): Python {
  const env = { ...process.env, ...more };
  return {
    env,
    bf16,
    find: () => findInterpreter({ path, env, project: process.cwd() }),
  };
}
