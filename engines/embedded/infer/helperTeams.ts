import { type MessagePort, Worker } from "node:worker_threads";
import { fromFailure, helperFailed, startThread, toFailure } from "../messages.ts";

/**
 * The inference thread's helpers, by team.
 * @param onLost called if a helper that has joined exits, because the others would wait for it at a barrier
 */
export function createHelperTeams(onLost: (error: Error) => void) {
  const teams = new Map<number, Worker[]>();

  function start(team: number, ports: readonly MessagePort[]): void {
    const helpers: Worker[] = [];
    teams.set(team, helpers);
    try {
      for (const port of ports) {
        const helper = startHelper(port);
        helpers.push(helper);
        watch(helper, () => teams.has(team));
      }
    } catch (error) {
      onLost(fromFailure(toFailure(error, "answers")));
    }
  }

  function watch(helper: Worker, isNeeded: () => boolean): void {
    let hasJoined = false;
    let thrown: unknown;
    helper.once("message", () => (hasJoined = true));
    helper.on("error", (error) => (thrown = error));
    helper.on("exit", (code) => {
      // The other threads answer without a helper that can't start, for example because a bundle lacks its file.
      if (hasJoined && isNeeded()) onLost(helperFailed(thrown ?? `code ${code}`, "answers"));
    });
  }

  async function end(team: number): Promise<void> {
    const helpers = teams.get(team) ?? [];
    teams.delete(team);
    await Promise.all(helpers.map((helper) => helper.terminate()));
  }

  return { start, end, endAll: () => Promise.all([...teams.keys()].map(end)) };
}

/** Starts a thread that joins once the port delivers its initial data. */
function startHelper(port: MessagePort): Worker {
  const helper = startThread(
    () => new Worker(new URL("./decoderWorker.js", import.meta.url), { execArgv: [] }),
    "answers",
    "Set KIT_THREADS=1 to answer without helpers, end other programs",
  );
  helper.postMessage(port, [port]);
  helper.unref();
  return helper;
}
