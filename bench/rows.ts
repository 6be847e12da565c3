import type { Row } from "./row.ts";
import { infer, memory, train } from "./rows/engine.ts";
import { help, launch } from "./rows/startup.ts";

/** The rows in the order in which they run and are shown. */
export const ROWS: Row[] = [help, launch, train, memory, infer];
