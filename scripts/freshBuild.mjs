// Before any test, also of `npx vitest` by itself: no test may pass on a build of other sources.
import { buildStale } from "./build.mjs";

export function setup(project) {
  buildStale();
  project.onTestsRerun(buildStale);
}
