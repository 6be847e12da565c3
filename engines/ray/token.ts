import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { KitError } from "../../protocol/error.ts";

/**
 * The token of a cluster, from where Ray's own tools find it; undefined where none is set.
 * @param option of `ray()`
 * @throws KitError `CLUSTER_REFUSED`
 */
export function findToken(option: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  const { RAY_AUTH_TOKEN: variable, RAY_AUTH_TOKEN_PATH: named } = env;
  if (option?.trim()) return asHeader(option, "ray({ token })");
  if (variable?.trim()) return asHeader(variable, "RAY_AUTH_TOKEN");
  const path = named?.trim() ? named : join(homedir(), ".ray", "auth_token");
  return asHeader(path === named ? readNamed(path) : readDefault(path), path);
}

/** Removes the line break that files and shells add. */
function asHeader(token: string, source: string): string | undefined {
  const trimmed = token.trim();
  if (/^[!-~]*$/.test(trimmed)) return trimmed === "" ? undefined : trimmed;
  throw new KitError(
    "CLUSTER_REFUSED",
    `The token of the Ray cluster in ${source} has a space, a line break or another character that no token has. Set it to the cluster's.`,
  );
}

function readNamed(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new KitError(
      "CLUSTER_REFUSED",
      `Cannot read the token of the Ray cluster at ${path}, which RAY_AUTH_TOKEN_PATH names. Check the path.`,
      { cause },
    );
  }
}

function readDefault(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") return "";
    throw new KitError(
      "CLUSTER_REFUSED",
      `Cannot read the token of the Ray cluster at ${path} (${code}). Make it a file that you can read, or set RAY_AUTH_TOKEN.`,
      { cause },
    );
  }
}
