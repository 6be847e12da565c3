import { isIP, isIPv6 } from "node:net";

/** A `Host` header taken apart. The name is lower-case, an IPv6 address without its brackets. */
export interface Host {
  name: string;
  port: string;
}

const NAME = String.raw`[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?)*\.?`;
const HOST = new RegExp(String.raw`^(?:(${NAME})|\[([0-9a-f:.]+)\])(?::(\d{1,5}))?$`);

const LONGEST_NAME = 253;
const LOOPBACK_ADDRESSES = new Set(["127.0.0.1", "::1"]);

/** Undefined for what is no `host[:port]`. */
export function parseHost(header: string): Host | undefined {
  const [, name, address, port = ""] = HOST.exec(header.toLowerCase()) ?? [];
  if (address !== undefined) return isIPv6(address) ? { name: address, port } : undefined;
  if (name === undefined || name.length > LONGEST_NAME) return undefined;
  // A trailing dot ends a name in full; it is the same name.
  return { name: name.replace(/\.$/, ""), port };
}

/** Whether a name leads to this machine by way of either loopback address. */
export function isLocalhost(name: string): boolean {
  return /^(.+\.)?localhost\.?$/i.test(name);
}

/** Whether an address to listen on is reached from this machine alone. */
export function isLoopback(address: string): boolean {
  return isLocalhost(address) || address === "::1" || /^127\.\d+\.\d+\.\d+$/.test(address);
}

/** Which names a request may come under. */
export interface HostPolicy {
  /** The address that the server listens on. */
  boundTo: string;
  /** This machine's own name. */
  machine: string;
  /** Names that `--allowed-host` adds. */
  added: string[];
}

/** A name that leads elsewhere may be made to lead here (DNS rebinding), so only known ones count. */
export function isAllowedHost(name: string, policy: HostPolicy): boolean {
  if (LOOPBACK_ADDRESSES.has(name) || isLocalhost(name)) return true;
  const { boundTo, machine, added } = policy;
  if ([boundTo, ...added].some((known) => sameName(known, name))) return true;
  if (isLoopback(boundTo)) return false;
  // An address cannot be made to lead elsewhere.
  return isIP(name) !== 0 || sameName(machine, name);
}

function sameName(known: string, name: string): boolean {
  return known.toLowerCase().replace(/\.$/, "") === name;
}
