import { linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { datasetFiles } from "../../../engines/dataset/files.ts";
import { readRows } from "../../../engines/dataset/rows.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { frozen, refusalOf } from "./materialized.ts";

/** A folder of datasets, each with one row: its own name. */
function createFolder(names: string[], folder = scratchDirectory()): string {
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), JSON.stringify({ text: name }));
  }
  return folder;
}

function textsOf(folder: string, paths: string[]): string[] {
  const rows = readRows<{ text: string }>(paths.map((path) => join(folder, path)));
  return [...rows].map(({ row }) => row.text);
}

test("rows come in the order of the paths, those of a pattern sorted by path, on any file system", () => {
  const names = ["b/10.jsonl", "b/9.jsonl", "a.jsonl", "B.jsonl", "é.jsonl", "b/.hidden.jsonl"];
  const folder = createFolder([...names, "b/notes.txt"]);
  expect(textsOf(folder, ["b/*.jsonl", "a.jsonl"])).toEqual(["b/10.jsonl", "b/9.jsonl", "a.jsonl"]);
  expect(textsOf(folder, ["**/*.jsonl"])).toEqual([
    ...["B.jsonl", "a.jsonl", "b/10.jsonl", "b/9.jsonl", "é.jsonl"],
  ]);
  expect(textsOf(folder, ["{B,a}.jsonl", "b/?.jsonl", "b/[01]*"])).toEqual([
    ...["B.jsonl", "a.jsonl", "b/9.jsonl", "b/10.jsonl"],
  ]);
});

test("a file that is named twice counts once, also through a link or in another case", () => {
  const folder = createFolder(["a.jsonl", "b.jsonl"]);
  // As on a disk that ignores case, where two names are one file.
  linkSync(join(folder, "a.jsonl"), join(folder, "A.jsonl"));
  expect(textsOf(folder, ["a.jsonl", "A.jsonl"])).toEqual(["a.jsonl"]);
  rmSync(join(folder, "A.jsonl"));
  symlinkSync(join(folder, "a.jsonl"), join(folder, "latest.jsonl"));
  symlinkSync(folder, join(folder, "loop"));
  expect(textsOf(folder, ["b.jsonl", "*.jsonl", "./b.jsonl"])).toEqual(["b.jsonl", "a.jsonl"]);
  expect(textsOf(folder, ["**/*.jsonl"])).toEqual(["a.jsonl", "b.jsonl"]);
});

test("a name that exists is that file, whatever its characters", () => {
  const folder = createFolder(["[a] (1)/{x}*.jsonl", "[a] (1)/y.jsonl"]);
  expect(textsOf(folder, ["[a] (1)/{x}*.jsonl"])).toEqual(["[a] (1)/{x}*.jsonl"]);
  expect(textsOf(folder, ["[a] (1)/*.jsonl"])).toEqual(["[a] (1)/y.jsonl", "[a] (1)/{x}*.jsonl"]);
});

test("a pattern that matches no file is an error that names it, as is a missing file", () => {
  const folder = createFolder(["a.jsonl"]);
  const filesOf = (path: string) => () => datasetFiles(join(folder, path));
  expect(filesOf("b*.jsonl")).toThrow(
    `No file matches the dataset's pattern ${folder}/b*.jsonl. Check its path.`,
  );
  expect(filesOf("b*.jsonl")).toThrow(expect.objectContaining({ code: "DATASET_UNREADABLE" }));
  expect(() => textsOf(folder, ["a.jsonl", "b.jsonl"])).toThrow(
    `Cannot read the dataset ${folder}/b.jsonl: there is no such file.`,
  );
});

test("a bad row's error names its own file and line; an empty file among others is fine", async () => {
  const folder = createFolder(["a.jsonl"]);
  const paths = ["a.jsonl", "empty.jsonl", "bad.jsonl"].map((name) => join(folder, name));
  writeFileSync(join(folder, "empty.jsonl"), "\n");
  writeFileSync(join(folder, "bad.jsonl"), '{"text":"x"}\n{oops');
  await expect(frozen(folder, { path: paths })).rejects.toThrow(
    `${folder}/bad.jsonl:2:2: not valid JSON`,
  );
  expect((await frozen(folder, { path: paths.slice(0, 2) })).rows).toEqual(['{"text":"a.jsonl"}']);
  expect(await refusalOf(paths[1]!)).toMatch(/^FILE has no rows\./);
});

test("a URL stays as it is, and its rows are not read here", () => {
  const path = join(createFolder(["a.jsonl"]), "a.jsonl");
  const url = "s3://bucket/b[1].jsonl?region=eu-west-1";
  expect(datasetFiles([url, path, url])).toEqual([url, path]);
  expect([...readRows([url, path])]).toEqual([{ row: { text: "a.jsonl" }, where: `${path}:1` }]);
  expect([...readRows(url)]).toEqual([]);
});
