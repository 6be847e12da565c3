import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createEmbeddedEngine } from "../../../engines/embedded/index.ts";
import { createPythonEngine } from "../../../engines/python/index.ts";
import { createRayEngine } from "../../../engines/ray/index.ts";
import {
  materializedConfig,
  materializeDatasets,
} from "../../../engines/training/materializeDatasets.ts";
import { CONFIG } from "../../jobs.ts";
import { scratchDirectory, scratchFile } from "../embedded/scratch.ts";

const here = { type: "jsonl", path: "rows.jsonl" } as const;

it.each([
  ["embedded", createEmbeddedEngine()],
  ["python", createPythonEngine()],
])("the %s engine takes no URL, and says which does", (name, engine) => {
  for (const path of ["s3://bucket/a.jsonl", ["a.jsonl", "s3://bucket/a.jsonl"]]) {
    const there = { type: "jsonl", path } as const;
    for (const asked of [{ dataset: there }, { dataset: here, evalDataset: there }]) {
      expect(() => engine.prepare(asked)).toThrow(
        `The ${name} engine reads datasets on this machine, but s3://bucket/a.jsonl is a URL. Name a downloaded file; only the workers of ray() read URLs.`,
      );
    }
  }
});

it.each([
  "s3://bucket/train.jsonl",
  "gs://bucket/train.jsonl",
  "abfs://container/train.jsonl?account_name=mine",
  "s3://bucket/a.jsonl?endpoint_override=http%3A%2F%2Fhost%3A9000",
  "file:///data/my%20rows.jsonl",
])("ray takes %s", (path) => {
  const dataset = { type: "jsonl", path } as const;
  expect(createRayEngine().prepare({ dataset, evalDataset: dataset })).toMatchObject({
    ...{ dataset, evalDataset: dataset },
  });
});

it.each([
  [
    "https://host/train.jsonl",
    "The workers cannot read the dataset https://host/train.jsonl. Use ",
  ],
  [
    "file://data/train.jsonl",
    "The workers cannot read the dataset file://data/train.jsonl. Use a ",
  ],
  [
    "file:///my rows.jsonl",
    "The workers cannot read the dataset file:///my rows.jsonl. Use a URL ",
  ],
  ["s3://bucket/*.jsonl", "A dataset's URL names one file, so s3://bucket/*.jsonl cannot be a "],
])("ray says before anything starts that its workers cannot read %s", (path, message) => {
  const there = { type: "jsonl", path } as const;
  for (const asked of [{ dataset: there }, { dataset: here, evalDataset: there }]) {
    expect(() => createRayEngine().prepare(asked)).toThrow(message);
  }
});

it("of a list, files here are written to the job's folder, and URLs come before them as they are", async () => {
  const [url, directory] = ["s3://bucket/a.jsonl", scratchDirectory()];
  const path = scratchFile("b.jsonl", '{"prompt":"a","completion":"b","id":1}\n');
  const asked = { ...CONFIG, dataset: { type: "jsonl", path: [path, url] } } as const;
  const { config } = await materializeDatasets(asked, { code: {}, directory, onNote: () => {} });
  const written = join(directory, "data.jsonl");
  expect(config.dataset).toEqual({ type: "jsonl", path: [url, written] });
  expect(readFileSync(written, "utf8")).toBe('{"prompt":"a","completion":"b"}\n');
  expect(materializedConfig(asked, directory).dataset).toEqual(config.dataset);
  const remote = { ...CONFIG, dataset: { type: "jsonl", path: url } } as const;
  expect(materializedConfig(remote, directory)).toEqual({ ...remote, evalDataset: undefined });
});
