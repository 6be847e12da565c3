import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { TrainingArguments } from "../../../protocol/trainerOptions.ts";
import { OTHER_ARGUMENTS } from "../otherArguments.ts";
import { createEmbeddedEngine } from "./built.ts";
import { jsonl, scratchDirectory } from "./scratch.ts";

const ROWS = Array.from({ length: 24 }, (_, n) => ({ prompt: `${n}`, completion: `${n + 1}` }));
const SHAPE = { layers: 1, heads: 2, width: 8, context: 32 };

/** What a training of eight steps reports. */
async function reported(argument: Partial<TrainingArguments>) {
  const directory = scratchDirectory();
  const path = join(directory, "rows.jsonl");
  writeFileSync(path, jsonl(ROWS));
  const engine = createEmbeddedEngine();
  const dataset = { type: "jsonl", path } as const;
  const events: unknown[] = [];
  await engine.train({
    config: engine.prepare({ model: SHAPE, dataset, maxSteps: 8, warmupSteps: 2, ...argument }),
    directory,
    signal: new AbortController().signal,
    onEvent({ event, data }) {
      events.push([event, { ...data, tokensPerSecond: undefined }]);
    },
  });
  return events;
}

test("the same arguments train the same", async () => {
  expect(await reported({})).toEqual(await reported({}));
});

test.each(Object.entries(OTHER_ARGUMENTS))("reads the argument %s", async (name, value) => {
  expect(await reported({ [name]: value })).not.toEqual(await reported({}));
});
