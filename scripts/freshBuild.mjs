// Runs before all tests, even under plain `npx vitest`: no test may pass on a stale build.
import { buildStale } from "./build.mjs";

export async function setup(project) {
  // Would colour what tests read.
  delete process.env.FORCE_COLOR;
  await buildStale();
  project.onTestsRerun(buildStale);
}
