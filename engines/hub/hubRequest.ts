import { KitError, messageOf } from "../../protocol/error.ts";
import { type HubName, isParquetConversion } from "./hubName.ts";
import type { HubSettings } from "./hubSettings.ts";

export interface HubRequest {
  settings: HubSettings;
  /** The repository, for errors. */
  name: HubName;
  signal: AbortSignal;
  /** Bytes to skip. */
  offset?: number;
}

export interface HubResponse {
  /** Whether the body starts at the requested `offset`, not at 0. */
  isPartial: boolean;
  /** The body. @throws KitError `HUB_UNREACHABLE` if the connection breaks or times out */
  chunks: () => AsyncGenerator<Uint8Array>;
}

/** Parts of error messages. */
const MESSAGES: Record<HubName["repoType"], RepoMessages> = {
  model: {
    prefix: "",
    ifUnreachable: "copy the model's folder here and pass its path",
    ifNotFound: (repo) => `write "./${repo}" for a folder`,
  },
  dataset: {
    prefix: "datasets/",
    ifUnreachable: "copy its files here and pass their path",
    ifNotFound: () => "pass the path of your own files",
  },
};

interface RepoMessages {
  /** Path prefix of the repository's page. */
  prefix: string;
  /** What to do if the hub can't be reached. */
  ifUnreachable: string;
  /** What to do if the hub has no such repository. */
  ifNotFound: (repo: string) => string;
}

/** Maximum length of a hub's own message in an error. */
export const MAX_MESSAGE_LENGTH = 200;

/**
 * Sends a GET request to the hub. `fetch` drops the token on redirects to another origin.
 * @throws KitError `HUB_UNREACHABLE`, `MODEL_REFUSED`, `MODEL_UNKNOWN`, `DATASET_UNREADABLE`, or
 * `CONFIG_INVALID` for a malformed token
 */
export async function fetchFromHub(url: string, request: HubRequest): Promise<HubResponse> {
  const { settings, offset = 0 } = request;
  const timeout = new AbortController();
  const signal = AbortSignal.any([request.signal, timeout.signal]);
  const headers = {
    // Listed sizes and hashes are those of uncompressed files.
    "accept-encoding": "identity",
    "user-agent": "kit",
    ...authorization(settings),
    ...(offset > 0 && { range: `bytes=${offset}-` }),
  };

  async function withTimeout<T>(step: Promise<T>): Promise<T> {
    const abort = () =>
      timeout.abort(new Error(`it sent nothing for ${settings.timeoutMs / 1000} s`));
    const timer = setTimeout(abort, settings.timeoutMs);
    try {
      return await step;
    } catch (error) {
      request.signal.throwIfAborted();
      throw unreachable(request, error);
    } finally {
      clearTimeout(timer);
    }
  }

  async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array> {
    const reader = body?.getReader();
    try {
      while (reader) {
        const read = await withTimeout(reader.read());
        if (read.done) return;
        yield read.value as Uint8Array;
      }
    } finally {
      timeout.abort();
    }
  }

  const response = await withTimeout(fetch(url, { headers, signal }));
  if (response.ok) return { isPartial: response.status === 206, chunks: () => chunksOf(response) };
  timeout.abort();
  throw statusError(response, request);
}

/** @throws KitError `CONFIG_INVALID` that doesn't reveal the token, unlike `fetch`'s own error */
export function authorization({ token, endpoint }: HubSettings): { authorization?: string } {
  if (token === undefined) return {};
  if (/^[!-~]+$/.test(token)) return { authorization: `Bearer ${token}` };
  throw new KitError(
    "CONFIG_INVALID",
    `The token in HF_TOKEN, or in the file saved by hf auth login, contains a space, a line break or another invalid character. Set HF_TOKEN to one from ${endpoint}/settings/tokens.`,
  );
}

/** The error for a hub that didn't answer, or stopped midway. */
export function unreachable({ settings, name }: HubRequest, error: unknown): KitError {
  const { host } = new URL(settings.endpoint);
  return new KitError(
    "HUB_UNREACHABLE",
    `Cannot download ${name.repo} from ${host}: ${reasonOf(error)}. Check the network, set HF_ENDPOINT to a mirror, or ${MESSAGES[name.repoType].ifUnreachable}.`,
    { cause: error },
  );
}

/** `fetch` hides the reason in its error's cause. */
export function reasonOf(error: unknown): string {
  const { cause } = error as Error;
  if (!(cause instanceof Error)) return messageOf(error);
  return cause.message || ((cause as NodeJS.ErrnoException).code ?? messageOf(error));
}

function statusError({ status, headers }: Response, { settings, name }: HubRequest): KitError {
  const { endpoint, token } = settings;
  const { repo, repoType, revision } = name;
  const { prefix, ifNotFound } = MESSAGES[repoType];
  const page = `${endpoint}/${prefix}${repo}`;
  const code = headers.get("x-error-code");
  if (code === "GatedRepo") {
    return accessError(
      name,
      `${repo} is gated. Open ${page} to accept its terms, and set HF_TOKEN to a token from that account.`,
    );
  }
  if (code === "RevisionNotFound" && isParquetConversion(name)) {
    return notFoundError(
      name,
      `The hub has no Parquet conversion of ${repo}. Set revision: "main" to read its original files.`,
    );
  }
  if (code === "RevisionNotFound") {
    return notFoundError(
      name,
      `${repo} has no revision "${revision}". Name a branch, tag or commit that ${page} lists.`,
    );
  }
  if (status === 401 && token !== undefined && code !== "RepoNotFound") {
    return accessError(name, rejectedToken(settings));
  }
  if (status === 401 || status === 404) {
    return notFoundError(
      name,
      `There is no ${repoType} ${repo} at ${endpoint}, or it is private. Check its name, set HF_TOKEN for a private one, or ${ifNotFound(repo)}.`,
    );
  }
  if (status === 403) {
    const message = headers.get("x-error-message")?.slice(0, MAX_MESSAGE_LENGTH) ?? "403";
    return accessError(
      name,
      `${endpoint} denied this token access to ${repo} (${message}). Set HF_TOKEN to one that may read it.`,
    );
  }
  return new KitError(
    "HUB_UNREACHABLE",
    `${endpoint} answered ${status} for ${repo}. Try again later.`,
  );
}

export function rejectedToken({ endpoint }: HubSettings): string {
  return `${endpoint} rejected the token. Set HF_TOKEN to one from ${endpoint}/settings/tokens.`;
}

function notFoundError({ repoType }: HubName, message: string): KitError {
  if (repoType === "dataset") return new KitError("DATASET_UNREADABLE", message);
  return new KitError("MODEL_UNKNOWN", message);
}

function accessError({ repoType }: HubName, message: string): KitError {
  if (repoType === "dataset") return new KitError("DATASET_UNREADABLE", message);
  return new KitError("MODEL_REFUSED", message);
}
