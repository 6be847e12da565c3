import { type TestSpecification, BaseSequencer } from "vitest/node";

/** Files of long tests, their folders or projects, longest first. The last ones to start would run alone. */
const LONGEST = [
  "tests/walk.test.ts",
  "tests/engines/realWeights/",
  "tests/nextjs.test.ts",
  "tests/quickstart.test.ts",
  "tests/clone.test.ts",
  "tests/bench/rows.test.ts",
  "tests/e2e/states.test.ts",
  "tests/faults/tabs.test.ts",
  "tests/docs/pages.test.ts",
  "tests/package.test.ts",
  "tests/npmStart.test.ts",
  "tests/engines/contract.test.ts",
  // Each project's together, so that its worker stays.
  ...["arm64 /", "arm64 node22", "arm64 node24"],
  "tests/e2e/",
  "tests/faults/",
];

/** A class, because vitest makes the object. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((one, other) => placeOf(one) - placeOf(other));
  }
}

/** The page's come last: they are short, and a worker starts anew for their environment. */
function placeOf({ moduleId, project }: TestSpecification): number {
  if (project.name === "page") return LONGEST.length + 1;
  const path = `${project.name} ${moduleId}`;
  const place = LONGEST.findIndex((part) => path.includes(part));
  return place < 0 ? LONGEST.length : place;
}
