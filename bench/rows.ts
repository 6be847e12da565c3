import type { Row } from "./row.ts";
import { ANSWER_ROWS, answerMemory } from "./rows/answers.ts";
import { memory, train } from "./rows/engine.ts";
import { evaluation } from "./rows/evaluation.ts";
import { latency } from "./rows/follow.ts";
import { liveJob } from "./rows/liveJob.ts";
import { longJob } from "./rows/longJob.ts";
import { manyJobs } from "./rows/manyJobs.ts";
import { openBatch, openLosses, openMixed, openStep } from "./rows/openModel.ts";
import { openLaunch, openMemory } from "./rows/openModelRun.ts";
import { flood } from "./rows/output.ts";
import { pageSize } from "./rows/pageSize.ts";
import { preferenceMemory, preferenceStep } from "./rows/preferences.ts";
import { rest } from "./rows/rest.ts";
import { SERVE_ROWS } from "./rows/serve.ts";
import { firstLoss, help, launch } from "./rows/startup.ts";
import { nanoStep, smallStep } from "./rows/torch.ts";

const START = [help, launch, firstLoss];
const PAGE = [latency, longJob, liveJob, manyJobs, flood];
const WHOLE = [rest, pageSize];
const ENGINE = [train, memory, nanoStep, smallStep];
const OPEN_TRAINING = [openStep, openBatch, openMixed, openMemory, openLaunch, openLosses];
const OPEN = [...OPEN_TRAINING, evaluation, preferenceStep, preferenceMemory];
const ANSWERS = [...ANSWER_ROWS, answerMemory, ...SERVE_ROWS];

/** The rows in the order in which they run and are shown. */
export const ROWS: Row[] = [...START, ...PAGE, ...WHOLE, ...ENGINE, ...OPEN, ...ANSWERS].sort(
  (a, b) => a.number - b.number,
);
