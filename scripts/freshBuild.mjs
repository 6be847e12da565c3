// Builds before all tests, even under plain `npx vitest`, so that none passes on a stale build.
import { buildStale } from "./build.mjs";

export async function setup(project) {
  // It would colour the output that tests read.
  delete process.env.FORCE_COLOR;
  await buildStale();
  project.onTestsRerun(buildStale);
}
