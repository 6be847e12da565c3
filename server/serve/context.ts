import type { BodyReader } from "../http/body.ts";
import type { Route as HttpRoute } from "../http/router.ts";
import type { FineTuning } from "./fineTuning/fineTuning.ts";
import type { ModelPool } from "./modelPool.ts";
import type { RequestRecord } from "./requestLog.ts";
import type { Slots } from "./slots.ts";

/** The parts of the server that routes use. */
export interface ServeContext {
  models: ModelPool;
  slots: Slots;
  bodies: BodyReader;
  /** Undefined unless it was turned on. */
  fineTuning: FineTuning | undefined;
  /** Whether all named models are loaded. */
  isReady: () => boolean;
  isClosing: () => boolean;
  onRequest: (record: RequestRecord) => void;
  /** Logs errors that clients may not see. */
  onError: (error: unknown) => void;
}

export type ServeRoute = HttpRoute<ServeContext>;
