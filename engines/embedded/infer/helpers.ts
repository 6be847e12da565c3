import { once } from "node:events";
import { MessageChannel, parentPort } from "node:worker_threads";
import type { Told } from "../messages.ts";
import type { DecoderInvitation } from "./decoder.ts";

/** The helper threads of a base, as the answering thread has them. */
export interface Helpers {
  /** They join at the next step. */
  invite: (invitation: DecoderInvitation) => void;
  /** Resolves when they have ended, and hold no memory. */
  end: () => Promise<void>;
}

let teams = 0;

/** Has the thread that started this one start helpers: it hears of their end while this one waits for them. */
export function startHelpers(count: number): Helpers {
  const team = ++teams;
  const channels = Array.from({ length: count }, () => new MessageChannel());
  const seats = channels.map(({ port2 }) => port2);
  tell({ team, seats }, seats);
  return {
    // Not through the other thread, which would hold the memory until it collects garbage.
    invite: (invitation) => channels.forEach(({ port1 }) => port1.postMessage(invitation)),
    async end() {
      const { port1, port2 } = new MessageChannel();
      tell({ team, ended: port2 }, [port2]);
      await once(port1, "close");
    },
  };
}

function tell(told: Told, transferred: MessageChannel["port2"][]): void {
  parentPort?.postMessage(told, transferred);
}
