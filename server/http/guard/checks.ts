import type { IncomingMessage } from "node:http";
import { type ServerIdentity, METHODS } from "../respond.ts";
import { isWellFormed, targetOf } from "../target.ts";
import { isAllowedOrigin, isPreflight } from "./cors.ts";
import { type HostPolicy, isAllowedHost, parseHost } from "./host.ts";

/** The response to a request that fails a check: a status, and a sentence that names the remedy. */
export interface Refusal {
  status: number;
  error: string;
  headers?: Record<string, string>;
}

/** Returns why a request is refused; undefined when it passes. */
export type Check = (
  request: IncomingMessage,
  policy: HostPolicy,
  identity: ServerIdentity,
) => Refusal | undefined;

const checkMethod: Check = (request, policy, { methods = METHODS }) => {
  const { method = "" } = request;
  if (methods.includes(method)) return undefined;
  if (policy.origins.length > 0 && isPreflight(request)) return undefined;
  const list = `${methods.slice(0, -1).join(", ")} or ${methods.at(-1)}`;
  const headers = { Allow: methods.join(", ") };
  return { status: 405, error: `Use ${list}. ${method} is not supported.`, headers };
};

const checkTarget: Check = (request, _, { advice, takesEncodedSlashes }) => {
  if (isWellFormed(request, takesEncodedSlashes)) return undefined;
  return { status: 400, error: `The request's target is malformed. ${advice}` };
};

const checkHostHeader: Check = ({ headersDistinct }) => {
  const hosts = headersDistinct.host ?? [];
  if (hosts.length === 1 && parseHost(hosts[0] ?? "")) return undefined;
  return { status: 400, error: "Send exactly one Host header of the form name:port." };
};

const checkHostName: Check = ({ headers }, policy, { command }) => {
  const { name } = parseHost(headers.host ?? "") ?? { name: "" };
  if (isAllowedHost(name, policy)) return undefined;
  return {
    status: 403,
    error: `The host name ${name} is not allowed. If it is yours, start the server with: ${command} --allowed-host ${name}`,
  };
};

/**
 * Admits the server's own page, the address bar, links to the page, and pages of allowed origins, as
 * reported by the browser.
 */
const checkFetchSite: Check = (request, policy, identity) => {
  const { method, headers } = request;
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return undefined;
  if (isAllowedOrigin(request, policy)) return undefined;
  const isLink =
    method === "GET" &&
    targetOf(request).path === identity.page &&
    headers["sec-fetch-mode"] === "navigate" &&
    headers["sec-fetch-dest"] === "document";
  if (isLink) return undefined;
  return {
    status: 403,
    error: `Requests from other sites are refused. ${siteAdvice(identity)}`,
  };
};

/** For browsers that send no `Sec-Fetch-Site`, which they omit for plain HTTP to other machines. */
const checkOrigin: Check = (request, policy, identity) => {
  const { headers } = request;
  const { origin, host = "" } = headers;
  if (headers["sec-fetch-site"] !== undefined || origin === undefined) return undefined;
  if (isAllowedOrigin(request, policy)) return undefined;
  const [, originHost] = /^https?:\/\/([^/]+)$/.exec(origin) ?? [];
  if (originHost?.toLowerCase() === host.toLowerCase()) return undefined;
  return {
    status: 403,
    error: `Requests from other origins are refused. ${siteAdvice(identity)}`,
  };
};

function siteAdvice({ advice, command, page }: ServerIdentity): string {
  if (page !== undefined) return advice;
  return `If the site is yours, start the server with: ${command} --allowed-origin <origin>`;
}

/** Checks in order; the first refusal is the response. */
export const CHECKS: Check[] = [
  checkMethod,
  checkTarget,
  checkHostHeader,
  checkHostName,
  checkFetchSite,
  checkOrigin,
];
