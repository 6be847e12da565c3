// Runs before all tests, even under plain `npx vitest`: no test may pass on a stale build.
import { buildStale } from "./build.mjs";

export function setup(project) {
  buildStale();
  project.onTestsRerun(buildStale);
}
