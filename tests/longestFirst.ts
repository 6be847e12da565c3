import { type TestSpecification, BaseSequencer } from "vitest/node";

/** Files of one long test each. The last one to start would run alone. */
const LONGEST = [
  "tests/quickstart.test.ts",
  "tests/walk.test.ts",
  "tests/bench/rows.test.ts",
  "tests/faults/cancel.test.ts",
];

/** A class, because vitest makes the object. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((one, other) => placeOf(one) - placeOf(other));
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = LONGEST.findIndex((path) => moduleId.endsWith(path));
  return place < 0 ? LONGEST.length : place;
}
