import { inspect } from "node:util";
import { didYouMean } from "../protocol/didYouMean.ts";
import { KitError } from "../protocol/error.ts";
import { VERSION } from "../protocol/version.ts";
import { type Trainer, DRIVER } from "./trainer.ts";

const BRAND = Symbol.for("kit.project");

/** A project's exports for `kit` and the page. */
export interface Kit {
  /** Undefined if the project exposes none, which disables the page's button. */
  readonly trainer: Trainer | undefined;
}

/**
 * Registers the project's trainer; its result is the default export of `src/kit/index.ts`.
 * @example
 * import { createKit } from "kit";
 * import { trainer } from "./trainer";
 *
 * export default createKit({ trainer });
 * @throws KitError `OPTION_INVALID` when `trainer` is not what `createTrainer` returns, or another option is given
 */
export function createKit(options: { trainer?: Trainer } = {}): Kit {
  if (typeof options !== "object" || options === null) {
    throw new KitError(
      "OPTION_INVALID",
      `createKit takes { trainer }, not ${inspect(options, { depth: 0 })}.`,
    );
  }
  const unknown = Object.keys(options).find((key) => key !== "trainer");
  if (unknown !== undefined) {
    throw new KitError(
      "OPTION_INVALID",
      `createKit: unknown option "${unknown}".${didYouMean(unknown, ["trainer"])} It takes trainer: createKit({ trainer }).`,
    );
  }
  const { trainer } = options;
  if ("trainer" in options && trainer === undefined) {
    throw new KitError(
      "OPTION_INVALID",
      'createKit: "trainer" is undefined. Export it from the file that creates it, as export const trainer = createTrainer({ … }), and import it by that name.',
    );
  }
  if (trainer !== undefined && !isTrainer(trainer)) {
    throw new KitError(
      "OPTION_INVALID",
      `createKit: "trainer" must be what createTrainer(...) returns, but is ${inspect(trainer, { depth: 0 })}.`,
    );
  }
  const kit = { trainer };
  Object.defineProperty(kit, BRAND, { value: VERSION });
  return kit;
}

/** Whether a value came from `createKit`, in this copy of Kit or another. */
export function isKit(value: unknown): value is Kit {
  return typeof value === "object" && value !== null && BRAND in value;
}

/** The version of the Kit that made it; undefined for one too old to record it. */
export function versionOf(kit: Kit): string | undefined {
  const { [BRAND]: version } = kit as Kit & { [BRAND]?: unknown };
  return typeof version === "string" ? version : undefined;
}

/** Checks a key that all copies of Kit share: the command and the project may use different copies. */
export function isTrainer(value: unknown): boolean {
  return typeof value === "object" && value !== null && DRIVER in value;
}
