import { KitError } from "../../protocol/error.ts";
import type { Remote } from "./remote.ts";

/**
 * A remote may stand where the job's own stood, as behind a tunnel.
 * @param session the job's, if it is known
 * @throws KitError `CANNOT_FOLLOW` unless it is the remote's; `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`
 */
export async function assertSession(
  remote: Remote,
  session: string | undefined,
  signal?: AbortSignal,
): Promise<void> {
  const now = await remote.session(signal);
  if (session !== undefined && now === session) return;
  throw new KitError(
    "CANNOT_FOLLOW",
    `Another cluster answers at ${remote.address}. Reconnect the original. If that was restarted, the job is lost: delete its placement.json and run npx kit start --resume.`,
  );
}
