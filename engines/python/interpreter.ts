import { accessSync, constants, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { KitError } from "../../protocol/error.ts";

/** A Python interpreter, and how it was found. */
export interface Interpreter {
  /** Absolute. */
  path: string;
  /** `KIT_PYTHON`, `.venv` … */
  from: string;
}

interface Environment {
  /** The option `path`. */
  path?: string | undefined;
  env: NodeJS.ProcessEnv;
  /** The project's directory. */
  project: string;
}

/**
 * The first interpreter that exists.
 * @throws KitError `PYTHON_NOT_FOUND` if there is none, or a named one is missing
 */
export function findInterpreter({ path, env, project }: Environment): Interpreter {
  if (path !== undefined) return named(path, "python({ path })", { env, project });
  const { KIT_PYTHON, VIRTUAL_ENV, CONDA_PREFIX } = env;
  if (KIT_PYTHON) return named(KIT_PYTHON, "KIT_PYTHON", { env, project });
  const environments = [
    [".kit/python", join(project, ".kit", "python")],
    ["VIRTUAL_ENV", VIRTUAL_ENV],
    ["CONDA_PREFIX", CONDA_PREFIX],
    ...ancestors(project).map((folder) => [".venv", join(folder, ".venv")]),
  ];
  for (const [from = "", folder] of environments) {
    const found = folder && inEnvironment(folder);
    if (found) return { path: found, from };
  }
  const found = onPath("python3", env);
  if (found) return { path: found, from: "PATH" };
  throw new KitError(
    "PYTHON_NOT_FOUND",
    "engine: python() needs Python 3.10 or newer, but none was found. Install it, or name one with python({ path }).",
  );
}

/** A folder means the environment in it. */
function named(name: string, from: string, { env, project }: Environment): Interpreter {
  const isName = !isAbsolute(name) && !/[\\/]/.test(name);
  const path = resolve(project, name);
  const found = isName ? onPath(name, env) : (inEnvironment(path) ?? executable(path));
  if (found) return { path: found, from };
  throw new KitError(
    "PYTHON_NOT_FOUND",
    `There is no Python at ${isName ? name : path}, which ${from} names. Check the path.`,
  );
}

function inEnvironment(folder: string): string | undefined {
  return executable(join(folder, "bin", "python"));
}

function onPath(name: string, { PATH = "" }: NodeJS.ProcessEnv): string | undefined {
  for (const folder of PATH.split(delimiter).filter(isAbsolute)) {
    const found = executable(join(folder, name));
    if (found) return found;
  }
  return undefined;
}

function executable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? path : undefined;
  } catch {
    // Missing or not executable.
    return undefined;
  }
}

/** A folder and its ancestors. */
function ancestors(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...ancestors(above)];
}
