import { isRecord } from "../../protocol/isRecord.ts";
import { type Http, jsonOf } from "./http.ts";

/** A version's first two numbers. */
export type Release = readonly [major: number, minor: number];

/** As Ray writes them, and short: errors print it. */
const VERSION = /^\d{1,4}\.\d{1,4}[\w.+-]{0,40}$/;

/**
 * Asks what answers for the version of Ray, undefined if it is not Ray, and for Ray's name of this start of
 * its head node, undefined if it has none.
 * @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`
 */
export async function readVersion(http: Http, signal?: AbortSignal) {
  const answer = await http.call({ method: "GET", path: "/api/version", signal });
  const found = jsonOf(answer);
  const { ray_version: version, session_name: session } = isRecord(found) ? found : {};
  const isVersion = typeof version === "string" && VERSION.test(version);
  return {
    status: answer.status,
    version: isVersion ? version : undefined,
    session: typeof session === "string" ? session : undefined,
  };
}

export function isOlder(version: string, [major, minor]: Release): boolean {
  const [ownMajor = 0, ownMinor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  return ownMajor < major || (ownMajor === major && ownMinor < minor);
}
