import { isIPv6 } from "node:net";
import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import { KitError } from "../protocol/error.ts";
import { parseHost } from "../server/http/guard/host.ts";

/**
 * Writes an address as a URL does: 0 becomes 0.0.0.0.
 * @throws KitError `HOST_INVALID`
 */
export function hostnameOf(host: string): string {
  // A URL cannot hold an IPv6 address's zone.
  const [address = ""] = host.split("%");
  const bracketed = isIPv6(address) ? `[${address}]` : address;
  if (parseHost(bracketed)?.port !== "" || !URL.canParse(`http://${bracketed}`)) {
    throw new KitError(
      "HOST_INVALID",
      `--host "${host}" is not valid. Pass an address or a host name.`,
    );
  }
  return new URL(`http://${bracketed}`).hostname;
}

/** @throws KitError `HOST_INVALID` */
export function nameToAllow(name: string): string {
  const host = parseHost(name);
  if (host) return host.name;
  throw new KitError(
    "HOST_INVALID",
    `--allowed-host "${name}" is not valid. Pass a host name such as dev.example.`,
  );
}

/**
 * Writes an origin as browsers send it.
 * @throws KitError `HOST_INVALID`
 */
export function originToAllow(origin: string): string {
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  const isOrigin = url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`;
  if (isOrigin) return url.origin;
  throw new KitError(
    "HOST_INVALID",
    `--allowed-origin "${origin}" is not valid. Pass an origin such as https://app.example.`,
  );
}

/** Not `localhost`, which may resolve to `::1`, where another server could listen. */
const LOOPBACK = "127.0.0.1";
/** The wildcard addresses, as a URL writes them. */
const ANY_IPV4 = "0.0.0.0";
const ANY_IPV6 = "[::]";

/** A server's URL for this machine, then its URLs for others: browsers can't open a wildcard address. */
export function urlsOf(hostname: string, port: number, path: string): URL[] {
  const otherHosts = networkAddresses(hostname, networkInterfaces());
  const ownHost = isAnyAddress(hostname) ? LOOPBACK : hostname;
  return [ownHost, ...otherHosts].map((host) => new URL(`http://${host}:${port}${path}`));
}

function isAnyAddress(hostname: string): boolean {
  return hostname === ANY_IPV4 || hostname === ANY_IPV6;
}

/**
 * The addresses at which other machines reach a server on a wildcard address.
 * @param interfaces as `os.networkInterfaces()` gives them
 */
export function networkAddresses(
  hostname: string,
  interfaces: NodeJS.Dict<NetworkInterfaceInfo[]>,
): string[] {
  if (!isAnyAddress(hostname)) return [];
  return Object.values(interfaces)
    .flatMap((addresses = []) => addresses)
    .filter(({ internal }) => !internal)
    .filter(({ family }) => family === "IPv4" || hostname === ANY_IPV6)
    .filter(({ address }) => !isLinkLocal(address))
    .map(({ address, family }) => (family === "IPv6" ? `[${address}]` : address));
}

/** A link-local IPv6 address needs a zone, which a URL cannot hold. */
function isLinkLocal(address: string): boolean {
  return /^fe[89ab]/i.test(address);
}
