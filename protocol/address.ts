/** The first port that `kit ui` tries. */
export const DEFAULT_PORT = 4747;

/** The port of `kit serve`. */
export const SERVE_PORT = 4748;

export const LAST_PORT = 65_535;

/** Whether a name resolves to a loopback address. */
export function isLocalhost(name: string): boolean {
  return /^(.+\.)?localhost\.?$/i.test(name);
}

/**
 * Whether only this machine can reach an address.
 * @param address a host name, or an IP address as `URL` normalizes it, but without brackets
 */
export function isLoopback(address: string): boolean {
  const isMappedIpv4 = /^::ffff:7f[\da-f]{2}:[\da-f]+$/i.test(address);
  const isAddress = address === "::1" || /^127\.\d+\.\d+\.\d+$/.test(address);
  return isLocalhost(address) || isAddress || isMappedIpv4;
}
