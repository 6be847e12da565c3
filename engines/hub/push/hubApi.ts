import { setTimeout as delay } from "node:timers/promises";
import { KitError, isKitError } from "../../../protocol/error.ts";
import { isRecord, parseRecord } from "../../../protocol/isRecord.ts";
import { FIRST_PAUSE_MS, MAX_FAILURES } from "../fileDownload.ts";
import {
  type HubRequest,
  MAX_MESSAGE_LENGTH,
  authorization,
  reasonOf,
  rejectedToken,
} from "../hubRequest.ts";

export interface Sending {
  /** A blob to `PUT`, or JSON to `POST`. Default: nothing, to `GET`. */
  body?: Blob | string | object;
  headers?: Record<string, string>;
  /** Statuses to return, besides those of success. */
  accepted?: number[];
  /** Whether to give up at the first broken connection or server error. */
  isOnce?: boolean;
  /** Without the token, as anybody sees it. */
  isAnonymous?: boolean;
}

/**
 * Sends a request to the hub, with the token, or to its storage, without.
 * @param to a URL, or a path below the endpoint
 * @throws KitError `HUB_REFUSED`, `HUB_UNREACHABLE`, or `CONFIG_INVALID` for a malformed token
 */
export async function send(
  to: string,
  request: HubRequest,
  { body, accepted = [], isOnce = false, isAnonymous = false, ...sending }: Sending = {},
): Promise<Response> {
  const { settings, signal } = request;
  const url = to.startsWith("/") ? settings.endpoint + to : to;
  const isHub = url.startsWith(`${settings.endpoint}/`);
  const isJson = typeof body === "object" && !(body instanceof Blob);
  const headers = {
    "user-agent": "kit",
    ...(isHub && !isAnonymous && authorization(settings)),
    ...(isJson && { "content-type": "application/json" }),
    ...sending.headers,
  };
  const method = body === undefined ? "GET" : body instanceof Blob ? "PUT" : "POST";
  const content = isJson ? JSON.stringify(body) : body;
  const init = { method, headers, signal, ...(content !== undefined && { body: content }) };
  for (let failures = 1; ; failures++) {
    try {
      return await attempt(url, request, init, accepted);
    } catch (error) {
      const isTransient = isKitError(error) && error.code === "HUB_UNREACHABLE";
      if (!isTransient || isOnce || failures === MAX_FAILURES) throw error;
      await delay(FIRST_PAUSE_MS * 2 ** (failures - 1), undefined, { signal });
    }
  }
}

/** The JSON object that the hub answers; empty for anything else. */
export async function sendForRecord(
  to: string,
  request: HubRequest,
  sending?: Sending,
): Promise<Record<string, unknown>> {
  return parseRecord(await (await send(to, request, sending)).text());
}

async function attempt(
  url: string,
  request: HubRequest,
  init: RequestInit,
  accepted: number[],
): Promise<Response> {
  const { settings, name, signal } = request;
  const { host } = new URL(url);
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch (error) {
    signal.throwIfAborted();
    throw unfinished(`Cannot push ${name.repo} to ${host}: ${reasonOf(error)}.`, error);
  }
  const { status } = response;
  if (response.ok || accepted.includes(status)) return response;
  const reason = (await reasonFrom(response)) || `status ${status}`;
  if (status >= 500 || status === 408 || status === 429) {
    throw unfinished(`${host} could not take ${name.repo} (${reason}).`);
  }
  const isStorage = host !== new URL(settings.endpoint).host;
  throw new KitError(
    "HUB_REFUSED",
    isStorage
      ? `${host} refused a file of ${name.repo} (${reason}). Its link may have expired: run the command again.`
      : refusal(status, reason, request),
  );
}

function unfinished(problem: string, cause?: unknown): KitError {
  return new KitError(
    "HUB_UNREACHABLE",
    `${problem} Check the network, and run the command again: files that arrived are not sent twice.`,
    { cause },
  );
}

/** What to do about a status of the hub, or of one of its objects. */
export function refusal(
  status: unknown,
  reason: string,
  { settings, name: { repo } }: HubRequest,
): string {
  const { endpoint } = settings;
  if (status === 401) return rejectedToken(settings);
  if (status === 403) {
    return `${endpoint} doesn't let this token write to ${repo} (${reason}). Set HF_TOKEN to one with write access from ${endpoint}/settings/tokens.`;
  }
  if (status === 412) {
    return `Somebody else committed to ${repo} meanwhile (${reason}). Run the command again.`;
  }
  if (status === 413) {
    return `${endpoint} has no room for ${repo} (${reason}). Free storage there, or push a smaller file: --format gguf --type q8_0.`;
  }
  return `${endpoint} refused to take ${repo} (${reason}). Check the name and your account.`;
}

/** The hub's own words, from a header or JSON, or its storage's, from XML. */
async function reasonFrom(response: Response): Promise<string> {
  const body = await response.text().catch(() => "");
  const { error, message, errors } = parseRecord(body);
  const listed = Array.isArray(errors) ? errors.map((one) => isRecord(one) && one["message"]) : [];
  const said = [response.headers.get("x-error-message"), error, message, listed.join("; ")];
  const [, inXml] = /<Message>([^<]+)/.exec(body) ?? [];
  const isText = (one: unknown): one is string => typeof one === "string" && one !== "";
  return ([...said, inXml].find(isText) ?? "").slice(0, MAX_MESSAGE_LENGTH).replace(/\.$/, "");
}
