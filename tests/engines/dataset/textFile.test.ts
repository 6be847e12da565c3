import { writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { readLines } from "../../../engines/dataset/lines.ts";
import { readTable } from "../../../engines/dataset/tables/tables.ts";
import { typeOfFile } from "../../../protocol/dataset.ts";
import { scratchFile } from "../embedded/scratch.ts";

const ROWS = [
  { prompt: "Größe? 😀", completion: "5 €" },
  { prompt: "q2", completion: "a2" },
];
const TEXTS = {
  "rows.jsonl": ROWS.map((row) => `${JSON.stringify(row)}\n`).join(""),
  "rows.json": JSON.stringify(ROWS, undefined, 2),
  "rows.csv": "prompt,completion\nGröße? 😀,5 €\nq2,a2\n",
};

/** The rows of a file and the lines where they are, as the type of its name says. */
async function read(path: string): Promise<unknown[]> {
  const type = typeOfFile(path);
  if (type === "jsonl") return [...readLines(path, (text) => JSON.parse(text) as unknown)];
  const rows: unknown[] = [];
  for await (const { value } of readTable(type, path)) rows.push(value);
  return rows;
}

async function refusal(name: string, content: string | Uint8Array): Promise<string> {
  const path = scratchFile(name, content);
  const error = await read(path).catch((reason: unknown) => reason);
  return error instanceof Error ? error.message.replace(path, name) : "none";
}

function utf16(text: string, isBigEndian = false): Buffer {
  const bytes = Buffer.from(text, "utf16le");
  return isBigEndian ? bytes.swap16() : bytes;
}

describe.each(Object.entries(TEXTS))("%s is read", (name, text) => {
  test.each<[string, Uint8Array | string]>([
    ["as UTF-8", text],
    ["as UTF-8 with its mark", `\ufeff${text}`],
    ["as UTF-16 with its mark", utf16(`\ufeff${text}`)],
    ["as UTF-16 of the other byte order", utf16(`\ufeff${text}`, true)],
    ["as UTF-16 without a mark", utf16(text)],
    ["as UTF-16 without a mark, of the other byte order", utf16(text, true)],
    ["with the line ends of Windows", text.replaceAll("\n", "\r\n")],
    ["with carriage returns alone", text.replaceAll("\n", "\r")],
    ["compressed with gzip", gzipSync(text)],
    ["as UTF-16, compressed with gzip", gzipSync(utf16(`\ufeff${text}`))],
  ])("%s", async (_, content) => {
    expect(await read(scratchFile(name, content))).toEqual(ROWS);
  });

  test.each<[string, string | Buffer, RegExp]>([
    [
      "Parquet",
      "PAR1\x15\x04",
      /is Parquet\. Name it rows\.parquet and leave out its type, or set/,
    ],
    ["Arrow", "ARROW1\0\0", /is Arrow\. Save it as Parquet: pandas\.read_feather\("rows\./],
    [
      "what save_to_disk writes",
      Buffer.from([255, 255, 255, 255, 16, 1, 0, 0]),
      /is Arrow\. Save it as Parquet: datasets\.Dataset\.from_file\("rows\./,
    ],
    [
      "Excel",
      `PK\x03\x04${"\0".repeat(26)}[Content_Types].xml`,
      /is an Excel workbook\. Save its sheet as CSV\.$/,
    ],
    [
      "ZIP",
      `PK\x03\x04${"\0".repeat(26)}rows.jsonl`,
      /is a ZIP archive\. Unpack it with unzip rows\./,
    ],
    [
      "zstd",
      Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0]),
      /compressed with zstd\. Unpack it with unzstd/,
    ],
    ["bzip2", "BZh91AY&SY", /is compressed with bzip2\. Unpack it with bunzip2 rows\./],
    [
      "xz",
      Buffer.from("fd377a585a00", "hex"),
      /is compressed with xz\. Unpack it with unxz rows\./,
    ],
    ["SQLite", "SQLite format 3\0", /is an SQLite database\. Save its table as CSV/],
    [
      "a pickle",
      Buffer.from("80059500", "hex"),
      /is a Python pickle\. Save it as JSONL: pandas\.read_p/,
    ],
    ["NumPy", Buffer.from("934e554d505901", "hex"), /is a NumPy array\. Save its rows as JSONL/],
    ["a PDF", "%PDF-1.7", /is a document\. Save its text as JSONL or CSV\.$/],
    [
      "a pointer of Git LFS",
      "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
      /is a pointer of Git LFS, not the data\. Download the data with git lfs pull\.$/,
    ],
    ["a web page", "\n<!DOCTYPE html>", /is a web page, or XML\. Download the data itself\.$/],
    [
      "tar in gzip",
      gzipSync(`${"\0".repeat(257)}ustar`),
      /is a tar archive\. Unpack it with tar -xf/,
    ],
    ["damaged gzip", gzipSync(text).subarray(0, -9), /: damaged gzip \(.*\)\. Save it again\.$/],
    ["half of UTF-16", utf16(`\ufeff${text}`).subarray(0, -1), /: damaged UTF-16\. Save the file/],
  ])("but %s is told by its first bytes", async (_, content, message) => {
    const bytes = typeof content === "string" ? Buffer.from(content, "latin1") : content;
    expect(await refusal(name, bytes)).toMatch(message);
  });
});

test("lines that end in carriage returns have numbers", () => {
  const path = scratchFile("rows.jsonl", '{"a":1}\r\r{"a":2}\r');
  expect([...readLines(path, (_, where) => where)]).toEqual([`${path}:1`, `${path}:3`]);
});

test("a carriage return within lines that end otherwise ends none", () => {
  const path = scratchFile("rows.jsonl", '{"a":\r1}\n{"a":2}\r\n');
  expect([...readLines(path, (text) => text)]).toEqual(['{"a":\r1}', '{"a":2}']);
});

test("text is read as it is whether its parts end within a character or not", () => {
  const text = `${"x😀é".repeat(400_000)}`;
  for (const before of ["", "a", "ab", "abc"]) {
    const path = scratchFile("rows.jsonl", utf16(`\ufeff${before}${text}\n`));
    expect([...readLines(path, (line) => line.length)]).toEqual([before.length + text.length]);
    writeFileSync(path, gzipSync(`${before}${text}\n`));
    expect([...readLines(path, (line) => line === before + text)]).toEqual([true]);
  }
});
