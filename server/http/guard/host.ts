import { isIP, isIPv6 } from "node:net";
import { isLocalhost, isLoopback } from "../../../protocol/address.ts";

/** A parsed `Host` header. The name is lower-case, an IPv6 address without its brackets. */
export interface Host {
  name: string;
  port: string;
}

const NAME = String.raw`[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?)*\.?`;
const HOST = new RegExp(String.raw`^(?:(${NAME})|\[([0-9a-f:.]+)\])(?::(\d{1,5}))?$`);

const MAX_NAME_LENGTH = 253;
const LOOPBACK_ADDRESSES = new Set(["127.0.0.1", "::1"]);

/** @returns undefined unless the header is `host[:port]` */
export function parseHost(header: string): Host | undefined {
  const [, name, address, port = ""] = HOST.exec(header.toLowerCase()) ?? [];
  if (address !== undefined) return isIPv6(address) ? { name: address, port } : undefined;
  if (name === undefined || name.length > MAX_NAME_LENGTH) return undefined;
  // A trailing dot marks a fully qualified name.
  return { name: name.replace(/\.$/, ""), port };
}

/** The host names that requests may use. */
export interface HostPolicy {
  /** The address that the server listens on. */
  boundTo: string;
  /** This machine's own name. */
  machineName: string;
  /** Names that `--allowed-host` adds. */
  addedNames: string[];
  /** Origins whose pages may call, as browsers write them. */
  origins: string[];
}

/** Allows known names only, against DNS rebinding. */
export function isAllowedHost(name: string, policy: HostPolicy): boolean {
  if (LOOPBACK_ADDRESSES.has(name) || isLocalhost(name)) return true;
  const { boundTo, machineName, addedNames } = policy;
  if ([boundTo, ...addedNames].some((known) => isSameName(known, name))) return true;
  if (isLoopback(boundTo)) return false;
  // An address cannot be rebound.
  return isIP(name) !== 0 || isSameName(machineName, name);
}

function isSameName(known: string, name: string): boolean {
  return known.toLowerCase().replace(/\.$/, "") === name;
}
