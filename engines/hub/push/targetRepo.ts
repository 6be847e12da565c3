import { KitError } from "../../../protocol/error.ts";
import { isRecord, parseRecord } from "../../../protocol/isRecord.ts";
import { type BaseInfo, CARD_CHECKPOINT } from "../../../protocol/push.ts";
import { type HubListing, parseListing } from "../hubListing.ts";
import { datasetName, parseHubName } from "../hubName.ts";
import type { HubRequest } from "../hubRequest.ts";
import type { HubSettings } from "../hubSettings.ts";
import { send, sendForRecord } from "./hubApi.ts";

/** A model's repository to push to. */
export interface TargetRepo {
  request: HubRequest;
  /** Undefined for a new repository. */
  existing: ExistingRepo | undefined;
}

/** A repository's newest commit. */
export interface ExistingRepo extends HubListing {
  isPrivate: boolean;
  /** The checkpoint that its README.md describes; undefined if that isn't one of Kit's cards. */
  checkpoint: unknown;
}

/**
 * Checks the token, and the repository if it exists.
 * @param isPrivate whether the model must stay private
 * @throws KitError `USAGE_INVALID`, `HUB_REFUSED`, `HUB_UNREACHABLE`, `HUB_INVALID`, `CONFIG_INVALID`
 */
export async function openTarget(
  repo: string,
  isPrivate: boolean,
  settings: HubSettings,
  signal: AbortSignal,
): Promise<TargetRepo> {
  const name = repo.includes("@") ? undefined : parseHubName(repo);
  if (!name) {
    throw new KitError(
      "USAGE_INVALID",
      `${JSON.stringify(repo)} is not a valid repository. Write org/name, or your user name and a name.`,
    );
  }
  const { endpoint, token, isOffline } = settings;
  if (isOffline) {
    throw new KitError("HUB_UNREACHABLE", "HF_HUB_OFFLINE is set. Remove the variable to push.");
  }
  if (token === undefined) {
    throw new KitError(
      "HUB_REFUSED",
      `Pushing needs a token with write access. Set HF_TOKEN to one from ${endpoint}/settings/tokens, or run hf auth login.`,
    );
  }
  const request: HubRequest = { settings, name, signal };
  const { auth } = await sendForRecord("/api/whoami-v2", request, { isOnce: true });
  const accessToken = isRecord(auth) ? auth["accessToken"] : undefined;
  if (isRecord(accessToken) && accessToken["role"] === "read") {
    throw new KitError(
      "HUB_REFUSED",
      `The token can only read. Set HF_TOKEN to one with write access from ${endpoint}/settings/tokens.`,
    );
  }
  return { request, existing: await readTarget(request, isPrivate) };
}

async function readTarget(
  request: HubRequest,
  isPrivate: boolean,
): Promise<ExistingRepo | undefined> {
  const path = `/api/models/${request.name.repo}/revision/main?blobs=true`;
  const response = await send(path, request, { accepted: [404] });
  if (response.status === 404) return undefined;
  const info = parseRecord(await response.text());
  const { cardData } = info;
  const checkpoint = isRecord(cardData) ? cardData[CARD_CHECKPOINT] : undefined;
  const isPrivateNow = info["private"] === true;
  const existing = { ...parseListing(info, request), isPrivate: isPrivateNow, checkpoint };
  if (isPrivate && !existing.isPrivate) {
    throw new KitError(
      "HUB_REFUSED",
      `${request.name.repo} is public. Add --public to push to it, or name another repository.`,
    );
  }
  return existing;
}

/**
 * Creates the repository, empty.
 * @returns its first commit
 * @throws KitError `HUB_REFUSED`, `HUB_UNREACHABLE`, `HUB_INVALID`
 */
export async function createTarget(
  { request }: TargetRepo,
  isPrivate: boolean,
): Promise<ExistingRepo> {
  const { settings } = request;
  const { repo } = request.name;
  const [organization, name] = repo.split("/");
  await send("/api/repos/create", request, {
    body: { type: "model", organization, name, visibility: isPrivate ? "private" : "public" },
    // Another push may have created it.
    accepted: [409],
    isOnce: true,
  });
  const existing = await readTarget(request, isPrivate);
  if (existing) return existing;
  throw new KitError(
    "HUB_REFUSED",
    `${repo} exists at ${settings.endpoint}, but this token can't see it. Choose another name.`,
  );
}

/** Reads a base's licence; without one, if the hub doesn't say. */
export async function describeBase(repo: string, request: HubRequest): Promise<BaseInfo> {
  const info = await lookUp(`/api/models/${repo}`, request);
  const { cardData, gated } = info ?? {};
  const card = isRecord(cardData) ? cardData : {};
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  return {
    repo,
    license: text(card["license"]),
    licenseName: text(card["license_name"]),
    licenseLink: text(card["license_link"]),
    isGated: gated !== undefined && gated !== false,
  };
}

/** Whether everybody can see a dataset. */
export async function isPublicDataset(dataset: string, request: HubRequest): Promise<boolean> {
  if (!datasetName(dataset)) return false;
  const info = await lookUp(`/api/datasets/${dataset}`, request, true);
  return info !== undefined && info["private"] !== true;
}

/** Undefined for anything that the hub doesn't show. */
async function lookUp(
  path: string,
  request: HubRequest,
  isAnonymous = false,
): Promise<Record<string, unknown> | undefined> {
  const response = await send(path, request, { accepted: [401, 403, 404], isAnonymous });
  return response.ok ? parseRecord(await response.text()) : undefined;
}
