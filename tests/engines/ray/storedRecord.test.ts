import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join, posix, win32 } from "node:path";
import { expect, it } from "vitest";
import {
  isInStorage,
  readStoredRecord,
  joinStorage,
  writeStoredRecord,
} from "../../../engines/ray/storedRecord.ts";
import { scratchDirectory } from "../embedded/scratch.ts";

const RECORD = {
  address: "http://head:8265",
  path: "s3://bucket/runs/1/step-4",
  files: { "model.safetensors": { size: 7, sha256: "ab" } },
};

it("keeps where an artifact lies, in a record beside its folder", () => {
  const artifacts = join(scratchDirectory(), "artifacts");
  writeStoredRecord(join(artifacts, "step-4"), RECORD);
  expect(readdirSync(artifacts)).toEqual(["step-4.stored.json"]);
  expect(readStoredRecord(join(artifacts, "step-4"))).toEqual(RECORD);
  expect(readStoredRecord(join(artifacts, "step-5"))).toBeUndefined();
});

it.each<[string, object]>([
  ["without an address", { ...RECORD, address: undefined }],
  ["without files", { ...RECORD, files: {} }],
  ["with a size that is none", { ...RECORD, files: { a: { size: "7", sha256: "ab" } } }],
])("takes a record %s for none", (_, record) => {
  const artifacts = scratchDirectory();
  mkdirSync(artifacts, { recursive: true });
  writeFileSync(join(artifacts, "step-4.stored.json"), JSON.stringify(record));
  expect(readStoredRecord(join(artifacts, "step-4"))).toBeUndefined();
});

it.each([
  ["/shared/runs/", "/shared/runs/1/step-4", posix, true],
  ["/shared/runs", "/shared/runs/../other", posix, false],
  ["Z:\\runs", "z:\\Runs\\1\\step-4", win32, true],
  ["\\\\nas\\runs", "\\\\nas\\runs/1/step-4", win32, true],
  ["Z:\\runs", "Z:\\runs-2\\1", win32, false],
  ["Z:\\runs", "s3://bucket/runs", win32, false],
])("tells whether storage %s has %s", (storage, path, system, isInside) => {
  expect(isInStorage(storage, path, system)).toBe(isInside);
});

it("leaves the query of a storage's URL behind what lies under it", () => {
  const minio = "s3://bucket/runs/?scheme=http&endpoint_override=minio:9000";
  const checkpoint = joinStorage(joinStorage(minio, "1"), "step-4");
  expect(checkpoint).toBe("s3://bucket/runs/1/step-4?scheme=http&endpoint_override=minio:9000");
  expect(isInStorage(minio, checkpoint)).toBe(true);
  expect(isInStorage("s3://bucket/runs", checkpoint)).toBe(false);
  expect(isInStorage("s3://bucket/run", RECORD.path)).toBe(false);
  expect(joinStorage("/shared/a?b/", "1")).toBe("/shared/a?b/1");
});
