import type { Row } from "./row.ts";
import { infer, memory, train } from "./rows/engine.ts";
import { changedList, coldGrowth, coldList, unchangedList } from "./rows/jobsList.ts";
import { help, launch } from "./rows/startup.ts";

const START = [help, launch];
const JOBS_LIST = [coldList, changedList, unchangedList, coldGrowth];
const ENGINE = [train, memory, infer];

/** The rows in the order in which they run and are shown. */
export const ROWS: Row[] = [...START, ...JOBS_LIST, ...ENGINE].sort((a, b) => a.number - b.number);
