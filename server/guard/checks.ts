import type { IncomingMessage } from "node:http";
import { isWellFormed, targetOf } from "../http/target.ts";
import { type HostPolicy, isAllowedHost, parseHost } from "./host.ts";

/** The answer to a request that fails a check: a status and a sentence that names the remedy. */
export interface Refusal {
  status: number;
  error: string;
  headers?: Record<string, string>;
}

/** Returns why a request is refused, or undefined when it passes. */
export type Check = (request: IncomingMessage, policy: HostPolicy) => Refusal | undefined;

const METHODS = ["GET", "HEAD", "POST"];

const checkMethod: Check = ({ method = "" }) => {
  if (METHODS.includes(method)) return undefined;
  const headers = { Allow: METHODS.join(", ") };
  return { status: 405, error: `Use GET, HEAD or POST. ${method} is not supported.`, headers };
};

const checkTarget: Check = (request) => {
  if (isWellFormed(request)) return undefined;
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
    error: `The host name ${name} is not allowed. If it is yours, start the server with: kit ui --allowed-host ${name}`,
  };
};

/** Lets in this page, the address bar and links to the page, as the browser reports them. */
const checkFetchSite: Check = (request) => {
  const { method, headers } = request;
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return undefined;
  const isLink =
    method === "GET" &&
    targetOf(request).path === "/" &&
    headers["sec-fetch-mode"] === "navigate" &&
    headers["sec-fetch-dest"] === "document";
  if (isLink) return undefined;
  return {
    status: 403,
    error: "Requests from other sites are refused. Open the page at / instead.",
  };
};

/** For browsers that send no `Sec-Fetch-Site`, which they omit for plain HTTP to other machines. */
const checkOrigin: Check = ({ headers }) => {
  const { origin, host = "" } = headers;
  if (headers["sec-fetch-site"] !== undefined || origin === undefined) return undefined;
  const [, originHost] = /^https?:\/\/([^/]+)$/.exec(origin) ?? [];
  if (originHost?.toLowerCase() === host.toLowerCase()) return undefined;
  return {
    status: 403,
    error: "Requests from other origins are refused. Open the page at / instead.",
  };
};

/** In this order: the first refusal is the answer. */
export const CHECKS: Check[] = [
  checkMethod,
  checkTarget,
  checkHostHeader,
  checkHostName,
  checkFetchSite,
  checkOrigin,
];
