import { isIPv6 } from "node:net";
import { KitError } from "../protocol/error.ts";
import { parseHost } from "../server/http/guard/host.ts";

/**
 * Writes an address as a URL does: 0 becomes 0.0.0.0.
 * @throws KitError `HOST_INVALID`
 */
export function hostnameOf(host: string): string {
  // A URL cannot hold an IPv6 address's zone.
  const [address = ""] = host.split("%");
  const written = isIPv6(address) ? `[${address}]` : address;
  if (parseHost(written)?.port !== "" || !URL.canParse(`http://${written}`)) {
    throw new KitError(
      "HOST_INVALID",
      `--host "${host}" is not valid. Pass an address or a host name.`,
    );
  }
  return new URL(`http://${written}`).hostname;
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
