import type { Row } from "./row.ts";
import { infer, memory, train } from "./rows/engine.ts";
import { clients, latency } from "./rows/follow.ts";
import { changedList, coldGrowth, coldList, unchangedList } from "./rows/jobsList.ts";
import { flood } from "./rows/output.ts";
import { history, historyGrowth, jobsGrowth, live, manyJobs } from "./rows/page.ts";
import { replay, replayGrowth } from "./rows/replay.ts";
import { rest } from "./rows/rest.ts";
import { installSize, pageSize } from "./rows/size.ts";
import { help, launch } from "./rows/startup.ts";

const START = [help, launch];
const JOBS_LIST = [coldList, changedList, unchangedList, coldGrowth];
const STREAM = [replay, replayGrowth, latency, clients];
const PAGE = [history, live, manyJobs, flood, historyGrowth, jobsGrowth];
const WHOLE = [rest, pageSize, installSize];
const ENGINE = [train, memory, infer];

/** The rows in the order in which they run and are shown. */
export const ROWS: Row[] = [...START, ...JOBS_LIST, ...STREAM, ...PAGE, ...WHOLE, ...ENGINE].sort(
  (a, b) => a.number - b.number,
);
