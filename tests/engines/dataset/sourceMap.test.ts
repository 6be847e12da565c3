import { expect, test } from "vitest";
import { createSourceMap, restoreLocations } from "../../../engines/dataset/sourceMap.ts";

const FROZEN = "/job/data.jsonl";

function placesOf(wheres: string[]) {
  const places = createSourceMap();
  for (const where of wheres) places.add(where);
  return places;
}

test("a line leads to where its row was, over gaps, blank lines and several files", () => {
  const wheres = [
    ...["a.csv:2", "a.csv:3", "a.csv:7", "a.csv:8", "b2.csv:2", "b2.csv:3", "a.csv:4"],
    ...["rows, row 1", "rows, row 2", "rows, row 9", "odd"],
  ];
  const places = placesOf(wheres);
  expect(wheres.slice(0, -1).map((_, line) => places.locationOf(line + 1))).toEqual(
    wheres.slice(0, -1),
  );
  expect([places.locationOf(0), places.locationOf(wheres.length + 1)]).toEqual([
    undefined,
    undefined,
  ]);
});

test("a text that names the written file names the rows' own places instead", () => {
  const named = restoreLocations(FROZEN, "a.csv", placesOf(["a.csv:2", "a.csv:5"]));
  expect(named(`${FROZEN}:2: bad. As ${FROZEN}:1, of ${FROZEN}.`)).toBe(
    "a.csv:5: bad. As a.csv:2, of a.csv.",
  );
  expect(named(`${FROZEN}:9 and other.jsonl:1`)).toBe("a.csv:9 and other.jsonl:1");
});
