import type { IncomingMessage } from "node:http";
import { type HostPolicy, isAllowedHost, parseHost } from "./host.ts";

/** Why a request is not let in: a status and a sentence that names the remedy. */
export interface Refusal {
  status: number;
  error: string;
  headers?: Record<string, string>;
}

/** Says why a request is refused, or nothing. */
export type Check = (request: IncomingMessage, policy: HostPolicy) => Refusal | undefined;

const METHODS = ["GET", "HEAD", "POST"];

/** Visible ASCII from a single slash on, without what starts a fragment or passes for a slash. */
const TARGET = /^\/(?![/\\])[\x21\x22\x24-\x5b\x5d-\x7e]*$/;

const checkMethod: Check = ({ method = "" }) => {
  if (METHODS.includes(method)) return undefined;
  const headers = { Allow: METHODS.join(", ") };
  return { status: 405, error: `Use ${METHODS.join(", ")}; ${method} does nothing here.`, headers };
};

const checkTarget: Check = ({ url = "" }) => {
  if (TARGET.test(url) && isPlainPath(pathOf(url))) return undefined;
  return { status: 400, error: "The request's target is malformed. The page is at /." };
};

const checkHostHeader: Check = ({ headersDistinct }) => {
  const hosts = headersDistinct.host ?? [];
  if (hosts.length === 1 && parseHost(hosts[0] ?? "")) return undefined;
  return { status: 400, error: "Send exactly one Host header of the form name:port." };
};

const checkHostName: Check = ({ headers }, policy) => {
  const { name } = parseHost(headers.host ?? "") ?? { name: "" };
  if (isAllowedHost(name, policy)) return undefined;
  return {
    status: 403,
    error: `The name ${name} is not known to this server. If it is yours, start it with: kit ui --allowed-host ${name}`,
  };
};

/** What a browser says of who asks: only this page, the address bar, or a link to the page may. */
const checkFetchSite: Check = ({ method, url, headers }) => {
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return undefined;
  const isLink =
    method === "GET" &&
    pathOf(url) === "/" &&
    headers["sec-fetch-mode"] === "navigate" &&
    headers["sec-fetch-dest"] === "document";
  if (isLink) return undefined;
  return {
    status: 403,
    error: "Another site may not ask this server. Open its page at / instead.",
  };
};

/** For browsers and addresses without `Sec-Fetch-Site`. */
const checkOrigin: Check = ({ headers }) => {
  const { origin, host = "" } = headers;
  if (headers["sec-fetch-site"] !== undefined || origin === undefined) return undefined;
  const [, originHost] = /^https?:\/\/([^/]+)$/.exec(origin) ?? [];
  if (originHost?.toLowerCase() === host.toLowerCase()) return undefined;
  return {
    status: 403,
    error: "Another origin may not ask this server. Open its page at / instead.",
  };
};

/** In this order: the first that refuses answers. */
export const CHECKS: Check[] = [
  checkMethod,
  checkTarget,
  checkHostHeader,
  checkHostName,
  checkFetchSite,
  checkOrigin,
];

function pathOf(url = ""): string {
  return url.split("?", 1)[0] ?? "";
}

/** Whether nothing in a path means something else after decoding: no dots, slashes or controls. */
function isPlainPath(path: string): boolean {
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    // Not UTF-8, or half an escape.
    return false;
  }
  if (decoded.split("/").length !== path.split("/").length) return false;
  if (/[\x00-\x1f\x7f\\%]/.test(decoded)) return false;
  return !decoded.split("/").some((segment) => segment === "." || segment === "..");
}
