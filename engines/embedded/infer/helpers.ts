import { once } from "node:events";
import { MessageChannel, parentPort } from "node:worker_threads";
import type { InferMessage } from "../messages.ts";
import type { DecoderWorkerInit } from "./decoder.ts";

/** A base's helper threads, as the inference thread controls them. */
export interface Helpers {
  /** Sends their initial data; they join at the next step. */
  init: (init: DecoderWorkerInit) => void;
  /** Resolves once they have exited and released their memory. */
  end: () => Promise<void>;
}

let teams = 0;

/** Asks the parent thread for helpers, because only it notices if one exits while this thread waits at a barrier. */
export function startHelpers(count: number): Helpers {
  const team = ++teams;
  const channels = Array.from({ length: count }, () => new MessageChannel());
  const ports = channels.map(({ port2 }) => port2);
  send({ team, ports }, ports);
  return {
    // Sent directly, because the parent would hold on to the memory until its next garbage collection.
    init: (init) => channels.forEach(({ port1 }) => port1.postMessage(init)),
    async end() {
      const { port1, port2 } = new MessageChannel();
      send({ team, ended: port2 }, [port2]);
      await once(port1, "close");
    },
  };
}

function send(message: InferMessage, transferred: MessageChannel["port2"][]): void {
  parentPort?.postMessage(message, transferred);
}
