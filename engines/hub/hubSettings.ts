import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { KitError } from "../../protocol/error.ts";

type Environment = Record<string, string | undefined>;

/** The hub's settings, from the environment variables of Python's `huggingface_hub`. */
export interface HubSettings {
  /** Without a trailing slash. */
  endpoint: string;
  /** Absolute path of the shared Hugging Face cache. */
  cache: string;
  token: string | undefined;
  isOffline: boolean;
  /** Maximum time without any data from the hub. */
  timeoutMs: number;
}

const ENDPOINT = "https://huggingface.co";
const TIMEOUT_S = 10;
/** The longest timer in Node: 24 days. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * Reads `HF_ENDPOINT`, `HF_HUB_CACHE`, `HF_HOME`, `XDG_CACHE_HOME`, `HF_TOKEN`, `HF_TOKEN_PATH`,
 * `HF_HUB_DISABLE_IMPLICIT_TOKEN`, `HF_HUB_OFFLINE`, `TRANSFORMERS_OFFLINE` and
 * `HF_HUB_DOWNLOAD_TIMEOUT`, and the token's file.
 * Source: huggingface.co/docs/huggingface_hub/package_reference/environment_variables.
 * @throws KitError `CONFIG_INVALID` when `HF_ENDPOINT` is not a URL or contains a password, or when
 * `HF_HUB_DOWNLOAD_TIMEOUT` is not a positive number
 */
export function hubSettings(env: Environment = process.env): HubSettings {
  const pathOf = (name: string, fallback: string) => expand(env[name] || fallback, env);
  const home = pathOf(
    "HF_HOME",
    join(env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "huggingface"),
  );
  const cache = resolve(pathOf("HF_HUB_CACHE", env["HUGGINGFACE_HUB_CACHE"] || join(home, "hub")));
  const ignoresToken = isTrue(env["HF_HUB_DISABLE_IMPLICIT_TOKEN"]);
  return {
    endpoint: endpointOf(env["HF_ENDPOINT"] || ENDPOINT),
    cache,
    token: ignoresToken ? undefined : tokenOf(env, pathOf("HF_TOKEN_PATH", join(home, "token"))),
    isOffline: isTrue(env["HF_HUB_OFFLINE"] || env["TRANSFORMERS_OFFLINE"]),
    timeoutMs: timeoutOf(env["HF_HUB_DOWNLOAD_TIMEOUT"] || `${TIMEOUT_S}`),
  };
}

function endpointOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url !== undefined && /^https?:$/.test(url.protocol);
  // Errors and notes show the address, so it must hold no secret.
  if (isHttp ? url.username || url.password : text.includes("@")) {
    throw new KitError(
      "CONFIG_INVALID",
      "HF_ENDPOINT has a user name or a password in it. Remove it, and set HF_TOKEN to a token instead.",
    );
  }
  if (isHttp) return text.replace(/\/+$/, "");
  throw new KitError(
    "CONFIG_INVALID",
    `HF_ENDPOINT must be a URL such as ${ENDPOINT}, but is "${text}".`,
  );
}

/** In ms. */
function timeoutOf(text: string): number {
  const seconds = Number(text);
  if (seconds > 0) return Math.min(seconds * 1000, MAX_TIMEOUT_MS);
  throw new KitError(
    "CONFIG_INVALID",
    `HF_HUB_DOWNLOAD_TIMEOUT must be a number of seconds above 0, but is "${text}".`,
  );
}

function tokenOf(env: Environment, path: string): string | undefined {
  const fromVariable = env["HF_TOKEN"] || env["HUGGING_FACE_HUB_TOKEN"];
  return (fromVariable ?? readToken(path)).trim() || undefined;
}

/** The token file's content; empty if there is none, since public models need no token. */
function readToken(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Not logged in.
    return "";
  }
}

function isTrue(value: string | undefined): boolean {
  return ["1", "ON", "YES", "TRUE"].includes(value?.toUpperCase() ?? "");
}

/** Python's `expanduser` and `expandvars`. */
function expand(path: string, env: Environment): string {
  return path
    .replace(/^~(?=[\\/]|$)/, homedir())
    .replace(
      /\$(?:(\w+)|\{(\w+)\})/g,
      (all, name: string, braced: string) => env[name ?? braced] ?? all,
    );
}
