import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ask } from "../ask.ts";
import { ratioAtMost } from "../goals.ts";
import { expectJobs, fillWithJobs } from "../jobs.ts";
import { program } from "../places.ts";
import type { Row } from "../row.ts";
import { type Scope, inScope } from "../scope.ts";
import { startKitUi } from "../server.ts";
import { alternate } from "../statistics.ts";

const JOBS = { full: 10_000, quick: 1_000, tiny: 10 };
const LIMIT_MS = 30_000;

export const coldList: Row = {
  number: 3,
  work: "`GET /api/jobs`, 10,000 jobs, first",
  baseline: "reading their `job.json` with `readFileSync`",
  async measure(scope) {
    const cold = fillCold(scope, scope.pick(JOBS));
    return [{ ...(await measureCold(scope, cold)), unit: "ms", goal: ratioAtMost(4) }];
  },
};

interface ColdProject {
  project: string;
  count: number;
  /** A file that names every `job.json`, one a line. */
  names: string;
}

function fillCold(scope: Scope, count: number): ColdProject {
  const project = scope.folder();
  const paths = fillWithJobs(scope, project, count);
  const names = join(project, "paths");
  writeFileSync(names, paths.join("\n"));
  return { project, count, names };
}

/** The first answer of a new process, against a new process that reads the files. */
async function measureCold(scope: Scope, { project, count, names }: ColdProject) {
  return alternate(
    {
      ours: () =>
        inScope(scope.size, LIMIT_MS, async (inner) => {
          const { url } = await startKitUi(inner, project);
          const { ms, body } = await ask(`${url}api/jobs`);
          expectJobs(body, count);
          return ms;
        }),
      baseline: () => Number(execFileSync(process.execPath, [program("readFiles"), names])),
    },
    scope.pick({ full: 7, quick: 7, tiny: 1 }),
  );
}
