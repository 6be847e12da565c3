import { describe, expect, it } from "vitest";
import { lossPath } from "../../../src/job/lossPath.ts";

const points = (...pairs: [step: number, loss: number][]) =>
  pairs.map(([step, loss]) => ({ step, loss }));

function places(path: string): [number, number][] {
  return path
    .slice(1)
    .split("L")
    .map((place) => place.split(" ").map(Number) as [number, number]);
}

describe("lossPath", () => {
  it("puts steps on x and min-max scaled losses on y of a 640 × 200 drawing", () => {
    expect(lossPath(points([10, 4], [20, 3], [50, 2]))).toBe("M0 0L160 100L640 200");
  });

  it("is empty without points", () => {
    expect(lossPath([])).toBe("");
  });

  it("draws a level line when all losses are equal, an upright one when all steps are", () => {
    expect(lossPath(points([1, 3], [2, 3]))).toBe("M0 100L640 100");
    expect(lossPath(points([7, 3], [7, 1]))).toBe("M320 0L320 200");
  });

  it("draws a single point as a line of no length", () => {
    expect(lossPath(points([7, 3]))).toBe("M320 100L320 100");
  });

  it("goes back where steps go back", () => {
    expect(lossPath(points([0, 2], [10, 1], [5, 1.5], [10, 0]))).toBe(
      "M0 0L640 100L320 50L640 200",
    );
  });

  it("holds losses whose difference is not finite", () => {
    expect(lossPath(points([0, 1.7e308], [1, -1.7e308]))).toBe("M0 0L640 200");
  });

  it("stays small with 200,000 points and keeps the ends and every spike", () => {
    const many = Array.from({ length: 200_000 }, (_, step) => ({
      step,
      loss: 2 + (step % 7) / 10,
    }));
    many[77_777] = { step: 77_777, loss: 10 };
    many[123_456] = { step: 123_456, loss: 0 };
    const drawn = places(lossPath(many));
    expect(drawn.length).toBeLessThanOrEqual(641 * 4);
    expect(drawn[0]).toEqual([0, 160]);
    expect(drawn.at(-1)![0]).toBe(640);
    expect(drawn.filter(([, y]) => y === 0)).toEqual([[248.89, 0]]);
    expect(drawn.filter(([, y]) => y === 200)).toEqual([[395.06, 200]]);
  });

  it("draws at most first, lowest, highest and last of a pixel column, in their order", () => {
    const column = points([0, 5], [0.1, 6], [0.2, 3], [0.3, 1], [0.4, 2], [0.5, 4]);
    expect(places(lossPath([...column, { step: 1000, loss: 0 }])).map(([, y]) => y)).toEqual(
      [5, 6, 1, 4, 0].map((loss) => Math.round((1 - loss / 6) * 20_000) / 100),
    );
  });
});
