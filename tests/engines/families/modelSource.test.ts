import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { assertCheckpoint } from "../../../engines/checkpoint/checkpoint.ts";
import { PRESETS, resolveModel } from "../../../engines/families/modelSource.ts";
import { scratchDirectory } from "../embedded/scratch.ts";

test("a preset's name stands for its shape", () => {
  expect(resolveModel("kit/nano")).toMatchObject({
    kind: "untrained",
    name: "kit/nano",
    dimensions: { width: 64, layers: 2, heads: 4 },
  });
  expect(PRESETS["kit/small"]).toMatchObject({ width: 96, layers: 3, heads: 4 });
});

test("an unknown name is an error that names those that exist", () => {
  expect(() => resolveModel("kit/huge")).toThrow(
    'Unknown model "kit/huge". Use kit/nano, kit/small, a shape { layers, heads, width, context }, a name on the Hugging Face Hub such as "org/name" or "org/name@revision", or the path of a checkpoint directory, which begins with "./" or "/".',
  );
  for (const name of ["gpt2", "org/", "org/na me", "org/name@", "models/of/mine"]) {
    expect(() => resolveModel(name)).toThrow(`Unknown model "${name}". Use kit/nano, `);
  }
});

test("an owner and a name stand for a model of the hub, at a revision", () => {
  const hub = { kind: "hub", repo: "org/name", repoType: "model" };
  expect(resolveModel("org/name")).toEqual({ ...hub, name: "org/name", revision: "main" });
  const name = "org/name@v1";
  expect(resolveModel(name)).toEqual({ ...hub, name, revision: "v1" });
});

test("a path stands for a checkpoint, which is not read yet", () => {
  const directory = scratchDirectory();
  expect(resolveModel(directory)).toEqual({ kind: "checkpoint", name: directory, directory });
  expect(() => assertCheckpoint(directory)).toThrow(/There is no checkpoint at .*config\.json/);
  mkdirSync(join(directory, "config.json"));
  expect(() => assertCheckpoint(directory)).not.toThrow();
});

test.each([
  [{ layers: 0, heads: 2, width: 8, context: 16 }, /model\.layers must be a positive whole number/],
  [
    { layers: 1e308, heads: 2, width: 8, context: 16 },
    /model\.layers must be a positive whole number, not 1e\+308/,
  ],
  [
    { layers: 1, heads: 1.5, width: 8, context: 16 },
    /model\.heads must be a positive whole number/,
  ],
  [{ layers: 1, heads: 4, width: 12, context: 16 }, /model\.width \(12\) must be a multiple of/],
  [{ layers: 1, heads: 2, width: 8, context: 4 }, /model\.context must be at least 8/],
])("a shape that cannot be is refused: %j", (shape, message) => {
  expect(() => resolveModel(shape)).toThrow(message);
});
