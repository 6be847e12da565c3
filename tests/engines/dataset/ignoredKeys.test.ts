import { expect, test } from "vitest";
import { createJob } from "../../../engines/python/job.ts";
import { prepareAnywhere } from "../../../engines/python/prepare.ts";
import { jsonl, scratchDirectory, scratchFile } from "../embedded/scratch.ts";

test("the engines that train elsewhere tell before they start which keys are ignored, as this one does", async () => {
  const path = scratchFile("rows.jsonl", jsonl([{ text: "t", id: 1 }]));
  const model = { layers: 1, heads: 1, width: 8, context: 8 };
  const notes: string[] = [];
  await createJob({
    config: prepareAnywhere({ model, dataset: { type: "jsonl", path } }, {}),
    directory: scratchDirectory(),
    onNote: (text) => notes.push(text),
  });
  expect(notes).toEqual([`ignoring keys in ${path}: "id" of 1 row`]);
});
