import { cpSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { adapterFiles, saveModel } from "../../../../engines/checkpoint/checkpoint.ts";
import { writeDirectory } from "../../../../engines/checkpoint/directory.ts";
import type * as module from "../../../../engines/embedded/infer/modelCache.ts";
import { randomAdapter } from "../../../../engines/lora/adapter.ts";
import { builtModule } from "../built.ts";
import { scratchDirectory } from "../scratch.ts";
import { TINY, tinyWeights } from "../tiny.ts";

const { createModelCache } = await builtModule<typeof module>("infer/modelCache.js");

const NOTES = { shape: TINY, promptStyle: "message" } as const;

/** A base on disk, and adapters of it of these ranks. */
function saved(...ranks: number[]) {
  const directory = scratchDirectory();
  const base = join(directory, "base");
  saveModel(base, tinyWeights(), NOTES);
  const adapters = ranks.map((r, i) => {
    const adapter = join(directory, `adapter-${i}`);
    const lora = { r, alpha: 16, targetModules: ["q_proj", "down_proj"] };
    const tensors = randomAdapter(lora, TINY, i);
    writeDirectory(adapter, adapterFiles(tensors, { ...NOTES, lora, base }));
    return adapter;
  });
  return { base, adapters };
}

test("a base and its adapters share one memory until the last of them is closed", async () => {
  const { base, adapters } = saved(4, 8);
  const { load } = createModelCache();
  const loaded = [base, ...adapters].map((directory) => load({ directory }));
  expect(loaded.map((one) => one.adapter?.slot)).toEqual([undefined, 1, 2]);
  for (const one of loaded) expect(one.base).toBe(loaded[0]!.base);
  await loaded[0]!.close();
  await loaded[1]!.close();
  const again = load({ directory: adapters[0]! });
  expect(again.base).toBe(loaded[0]!.base);
  expect(again.adapter).toMatchObject({ slot: 1, id: 3 });
  await Promise.all([again.close(), loaded[2]!.close()]);
  expect(load({ directory: base }).base).not.toBe(again.base);
});

test("other weights are another base: quantized, of another folder, or changed since", () => {
  const { base, adapters } = saved(4);
  const { load } = createModelCache();
  const first = load({ directory: adapters[0]! }).base;
  expect(load({ directory: adapters[0]!, quantize: "q8_0" }).base).not.toBe(first);
  const copy = `${base}-copy`;
  cpSync(base, copy, { recursive: true });
  expect(load({ directory: copy }).base).not.toBe(first);
  renameSync(base, `${base}-before`);
  renameSync(copy, base);
  expect(load({ directory: adapters[0]! }).base).not.toBe(first);
});

test("an adapter of a rank that does not fit beside others is merged into weights of its own", async () => {
  const { base, adapters } = saved(4, 300);
  const { load } = createModelCache();
  const [small, large] = adapters.map((directory) => load({ directory }));
  expect(large!.adapter).toBeUndefined();
  expect(large!.base).not.toBe(small!.base);
  expect(load({ directory: base }).base).toBe(small!.base);
  await large!.close();
});
