import type { NetworkInterfaceInfo } from "node:os";

/** The wildcard addresses, as a URL writes them. */
const ANY_IPV4 = "0.0.0.0";
const ANY_IPV6 = "[::]";

export function isAnyAddress(hostname: string): boolean {
  return hostname === ANY_IPV4 || hostname === ANY_IPV6;
}

/**
 * The hosts under which other machines reach a server that listens on a wildcard address.
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
