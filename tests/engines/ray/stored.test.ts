import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readStored, writeStored } from "../../../engines/ray/stored.ts";
import { scratchDirectory } from "../embedded/scratch.ts";

const RECORD = {
  address: "http://head:8265",
  path: "s3://bucket/runs/1/step-4",
  files: { "model.safetensors": { size: 7, sha256: "ab" } },
};

it("keeps where an artifact lies, in a record beside its folder", () => {
  const artifacts = join(scratchDirectory(), "artifacts");
  writeStored(join(artifacts, "step-4"), RECORD);
  expect(readdirSync(artifacts)).toEqual(["step-4.stored.json"]);
  expect(readStored(join(artifacts, "step-4"))).toEqual(RECORD);
  expect(readStored(join(artifacts, "step-5"))).toBeUndefined();
});

it.each<[string, object]>([
  ["without an address", { ...RECORD, address: undefined }],
  ["with a size that is none", { ...RECORD, files: { a: { size: "7", sha256: "ab" } } }],
])("takes a record %s for none", (_, record) => {
  const artifacts = scratchDirectory();
  mkdirSync(artifacts, { recursive: true });
  writeFileSync(join(artifacts, "step-4.stored.json"), JSON.stringify(record));
  expect(readStored(join(artifacts, "step-4"))).toBeUndefined();
});
