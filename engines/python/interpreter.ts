import { accessSync, constants, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { pythonCommands, pythonOfConda, pythonOfEnvironment } from "../../disk/pythonProgram.ts";
import { KitError } from "../../protocol/error.ts";

/** A Python interpreter, and how it was found. */
export interface Interpreter {
  /** Absolute. */
  path: string;
  /** Where it was found: `KIT_PYTHON`, `.venv` … */
  from: string;
}

interface Search {
  /** The engine's option. */
  path?: string | undefined;
  env: NodeJS.ProcessEnv;
  /** The project's directory. */
  project: string;
}

/**
 * The first interpreter that exists.
 * @throws KitError `PYTHON_NOT_FOUND` if there is none, or the requested one is missing
 */
export function findInterpreter({ path, env, project }: Search): Interpreter {
  if (path !== undefined) return namedInterpreter(path, "python({ path })", { env, project });
  const { KIT_PYTHON, VIRTUAL_ENV, CONDA_PREFIX } = env;
  if (KIT_PYTHON) return namedInterpreter(KIT_PYTHON, "KIT_PYTHON", { env, project });
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
  for (const name of pythonCommands()) {
    const found = onPath(name, env);
    if (found) return { path: found, from: "PATH" };
  }
  throw new KitError(
    "PYTHON_NOT_FOUND",
    "engine: python() needs Python 3.10 or newer, but none was found. Install it, or set one with python({ path }).",
  );
}

/** @param name a command on PATH, an executable, or the folder of an environment */
function namedInterpreter(name: string, from: string, { env, project }: Search): Interpreter {
  const isCommand = !isAbsolute(name) && !/[\\/]/.test(name);
  const path = resolve(project, name);
  const found = isCommand ? onPath(name, env) : (inEnvironment(path) ?? executable(path));
  if (found) return { path: found, from };
  throw new KitError(
    "PYTHON_NOT_FOUND",
    `There is no Python at ${isCommand ? name : path} (from ${from}). Check the path.`,
  );
}

function inEnvironment(folder: string): string | undefined {
  return executable(pythonOfEnvironment(folder)) ?? executable(pythonOfConda(folder));
}

function onPath(name: string, env: NodeJS.ProcessEnv): string | undefined {
  // Windows calls it Path, and a copied environment is case-sensitive.
  const variable = Object.keys(env).find((key) => key.toUpperCase() === "PATH") ?? "";
  for (const folder of (env[variable] ?? "").split(delimiter).filter(isAbsolute)) {
    const found = executable(join(folder, name));
    if (found) return found;
  }
  return undefined;
}

function executable(path: string): string | undefined {
  const isBare = process.platform === "win32" && !/\.exe$/i.test(path);
  const file = isBare ? `${path}.exe` : path;
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile() ? file : undefined;
  } catch {
    // Missing or not executable. On Windows, also the Store's stub, which only opens the Store.
    return undefined;
  }
}

/** A folder and its ancestors. */
function ancestors(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...ancestors(above)];
}
