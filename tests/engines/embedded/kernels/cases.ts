import { expect } from "vitest";
import type { Numbers } from "./arena.ts";
import { type Call, bytesOf, difference, team, THREADS } from "./team.ts";

export const AWKWARD = [1, 3, 4, 5, 63, 64, 65];

/** A kernel beside a plain loop in float64: its inputs, its outputs and what they should be. */
export interface Case {
  name: string;
  inputs: Record<string, number[] | Float32Array | Int32Array>;
  /** Outputs by their sizes. */
  outputs: Record<string, number>;
  call: (at: Record<string, number>) => Call[];
  /** In float64, by the names of the outputs. */
  expected: (of: Record<string, Float64Array>) => Record<string, ArrayLike<number>>;
}

export const loop = <T>(count: number, make: (i: number) => T) =>
  Array.from({ length: count }, (_, i) => make(i));
export const get = (array: ArrayLike<number> | undefined, i: number) => array?.[i] ?? NaN;
export const sumOf = (values: number[]) => values.reduce((sum, value) => sum + value, 0);

/** Runs a case on every thread count in one arena: right, the same to the bit, within its arrays. */
export function check(all: Case[]) {
  const t = team();
  const places = all.map(({ inputs, outputs, call, expected }) => {
    const arrays: Record<string, Numbers> = {};
    const before: Record<string, Float64Array> = {};
    for (const [name, values] of Object.entries(inputs)) {
      arrays[name] = t.floats(new Float32Array(values.length));
      if (values instanceof Int32Array)
        new Int32Array(t.memory.buffer, arrays[name].at, values.length).set(values);
      else arrays[name].view.set(values);
      before[name] = Float64Array.from(values);
    }
    for (const [name, count] of Object.entries(outputs))
      arrays[name] = t.floats(new Float32Array(count));
    const bytes = (array: Numbers) => new Uint8Array(t.memory.buffer, array.at, array.count * 4);
    const saved = Object.values(arrays).map((array) => ({ array, bytes: bytes(array).slice() }));
    const restore = () => saved.forEach(({ array, bytes: old }) => bytes(array).set(old));
    const addresses = Object.fromEntries(
      Object.entries(arrays).map(([name, { at }]) => [name, at]),
    );
    return { arrays, restore, calls: call(addresses), wanted: expected(before) };
  });
  const results = THREADS.map((threads) => {
    for (const { restore } of places) restore();
    t.run(
      threads,
      places.flatMap(({ calls }) => [...calls, ["barrier"] as Call]),
    );
    return places.map(({ arrays, wanted }) =>
      Object.keys(wanted).map((name) => Float32Array.from(arrays[name]?.view ?? [])),
    );
  });
  all.forEach(({ name }, i) => {
    Object.entries(places[i]?.wanted ?? {}).forEach(([output, wanted], o) => {
      expect(difference(results[0]?.[i]?.[o] ?? [], wanted), `${name}: ${output}`).toBeLessThan(
        1e-4,
      );
    });
    const [single, ...others] = results.map((result) => result[i]?.map(bytesOf));
    for (const other of others) expect(other, name).toEqual(single);
  });
  expect(t.broken()).toBe(0);
}
