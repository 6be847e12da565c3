import { basename } from "node:path";
import { invalid } from "./tables/tableRow.ts";

/** Number of first bytes that suffice to identify a file's kind. */
export const HEAD_BYTES = 512;

interface Kind {
  /** Matches the file's first bytes, as Latin-1. */
  start: RegExp;
  /** What the file is, for the error. */
  name: string;
  /** What to do. `$` stands for the file's name, `*` for its name without the extension. */
  advice: string;
}

const SHEET = "Save its sheet as CSV";
const ARCHIVE = "and name the files that it has";
const ROWS = "Save its rows as JSONL, CSV or Parquet";

const KINDS: Kind[] = [
  kind(
    /^PAR1/,
    "Parquet",
    'Name it *.parquet and leave out its type, or set the type to "parquet"',
  ),
  kind(
    /^(ARROW1|FEA1)/,
    "Arrow",
    'Save it as Parquet: pandas.read_feather("$").to_parquet("*.parquet")',
  ),
  kind(
    /^\xff{4}[^]{3}\0/,
    "Arrow",
    'Save it as Parquet: datasets.Dataset.from_file("$").to_parquet("*.parquet")',
  ),
  kind(/^PK\x03\x04[^]{26}(\[Content_Types\]|_rels|xl\/|docProps)/, "an Excel workbook", SHEET),
  kind(/^PK\x03\x04[^]{26}mimetypeapplication\/vnd\.oasis/, "a spreadsheet", SHEET),
  kind(/^\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1/, "an Excel workbook", SHEET),
  kind(/^PK\x03\x04/, "a ZIP archive", `Unpack it with unzip $, ${ARCHIVE}`),
  kind(/^7z\xbc\xaf\x27\x1c/, "a 7z archive", `Unpack it with 7z x $, ${ARCHIVE}`),
  kind(/^Rar!/, "a RAR archive", `Unpack it, ${ARCHIVE}`),
  kind(/^[^]{257}ustar/, "a tar archive", `Unpack it with tar -xf $, ${ARCHIVE}`),
  kind(/^\x1f\x8b/, "compressed with gzip", "Unpack it with gunzip $"),
  kind(/^\x28\xb5\x2f\xfd/, "compressed with zstd", "Unpack it with unzstd $"),
  kind(/^BZh[1-9]/, "compressed with bzip2", "Unpack it with bunzip2 $"),
  kind(/^\xfd7zXZ\0/, "compressed with xz", "Unpack it with unxz $"),
  kind(/^\x04\x22\x4d\x18/, "compressed with lz4", "Unpack it with unlz4 $"),
  kind(/^SQLite format 3\0/, "an SQLite database", "Save its table as CSV: sqlite3 -csv -header"),
  kind(
    /^\x80[\x02-\x05]/,
    "a Python pickle",
    'Save it as JSONL: pandas.read_pickle("$").to_json("*.jsonl", orient="records", lines=True)',
  ),
  kind(/^\x93NUMPY/, "a NumPy array", ROWS),
  kind(/^(\x89HDF|ORC|Obj\x01)/, "of a format that Kit does not read", ROWS),
  kind(/^(%PDF-|\{\\rtf)/, "a document", "Save its text as JSONL or CSV"),
  kind(/^(\x89PNG|\xff\xd8\xff|GIF8|RIFF)/, "a picture or a sound", ROWS),
  kind(/^(GGUF|.{8}\{"__metadata__")/s, "a model", "Name the dataset's file"),
  kind(
    /^version https:\/\/git-lfs/,
    "a pointer of Git LFS, not the data",
    "Download the data with git lfs pull",
  ),
  kind(
    /^(\xef\xbb\xbf)?\s*<(!doctype|html|\?xml)/i,
    "a web page, or XML",
    "Download the data itself",
  ),
];

function kind(start: RegExp, name: string, advice: string): Kind {
  return { start, name, advice };
}

/**
 * @param head a file's first bytes, up to `HEAD_BYTES`
 * @param expected the kind that it should be
 * @throws KitError `DATASET_INVALID` for a known kind that is neither text nor the expected one
 */
export function refuseOtherKinds(path: string, head: Buffer, expected?: "Parquet"): void {
  const start = head.toString("latin1");
  const found = KINDS.find((kind) => kind.start.test(start));
  if (!found || found.name === expected) return;
  const file = basename(path);
  const advice = found.advice.replaceAll("$", () => file);
  const stem = file.replace(/(\.[^.]*)?$/, "");
  throw invalid(path, `the file is ${found.name}. ${advice.replaceAll("*", () => stem)}.`);
}
