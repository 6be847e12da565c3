import { createHash } from "node:crypto";
import { KitError } from "../../protocol/error.ts";
import type { Answer, Http } from "./http.ts";

/** @returns its URI, by its content, so that the same package is sent once */
export async function upload(http: Http, archive: Buffer, signal?: AbortSignal): Promise<string> {
  const digest = createHash("sha256").update(archive).digest("hex");
  const name = `_ray_pkg_${digest}.zip`;
  const path = `/api/packages/gcs/${name}`;
  const { status } = await http.call({ method: "GET", path, signal });
  if (status !== 200) {
    const sent = await http.call({ method: "PUT", path, body: archive, signal });
    if (sent.status !== 200) throw notSent(sent);
  }
  return `gcs://${name}`;
}

export function notSent(answer: Answer): KitError {
  return new KitError(
    "CLUSTER_UNFIT",
    `The Ray cluster does not take the package: ${lastLine(answer)}. See the log of its dashboard.`,
  );
}

/** Returns the error of a Python traceback, or the status code if a proxy answered. */
export function lastLine({ status, body }: Answer): string {
  const text = body.toString().trim();
  const line = text.split("\n").at(-1)?.trim() ?? "";
  return line === "" || text.startsWith("<") ? `status ${status}` : line.replace(/\.$/, "");
}
