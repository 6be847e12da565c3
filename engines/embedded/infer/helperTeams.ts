import { type MessagePort, Worker } from "node:worker_threads";
import { fromFailure, helperFailed, startThread, toFailure } from "../messages.ts";

/**
 * The helper threads of the answering thread, by their teams.
 * @param onLost takes the error of one that took part and is gone: the others wait for it at a barrier
 */
export function createHelperTeams(onLost: (error: Error) => void) {
  const teams = new Map<number, Worker[]>();

  function start(team: number, seats: readonly MessagePort[]): void {
    const helpers: Worker[] = [];
    teams.set(team, helpers);
    try {
      for (const seat of seats) {
        const helper = startHelper(seat);
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
      // If it fails to start, e.g. because a bundle lacks its file, the other threads answer alone.
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

/** A thread that takes part once it is invited through `seat`. */
function startHelper(seat: MessagePort): Worker {
  const helper = startThread(
    () => new Worker(new URL("./decoderWorker.js", import.meta.url), { execArgv: [] }),
    "answers",
    "Set KIT_THREADS=1 to answer without helpers, end other programs",
  );
  helper.postMessage(seat, [seat]);
  helper.unref();
  return helper;
}
