import { pipeline } from "node:stream";
import type { CsvError, CsvErrorCode, InfoRecord, Options } from "csv-parse";
import { isKitError } from "../../../protocol/error.ts";
import { formatCounted } from "../../../protocol/format.ts";
import constants from "../../constants.json" with { type: "json" };
import { type TableRow, duplicateIn, invalid } from "./tableRow.ts";
import { newlinesIn, readUtf8 } from "./utf8.ts";

/** Delimiters and their names in errors, the most likely first. */
const DELIMITERS: Record<string, string> = {
  ",": "comma",
  ";": "semicolon",
  "\t": "tab",
  "|": "vertical bar",
};

/** A line before the header that tells Excel the delimiter. */
const SEPARATOR_LINE = /^"?sep=([^\r\n])"?(\r\n|\n|\r|$)/i;

/** The limit of JSONL. A row with an unclosed quote may exceed it, too. */
const MAX_ROW_BYTES = constants.maxLineMiB * 2 ** 20;

const DOUBLE_QUOTES = 'Write "" for each quote inside a quoted cell.';

/** Problems by csv-parse's code. Its other codes need options that Kit doesn't set. */
const PROBLEMS: Partial<Record<CsvErrorCode, string>> = {
  CSV_QUOTE_NOT_CLOSED: `a quote in this row never closes. Close it. ${DOUBLE_QUOTES}`,
  CSV_INVALID_CLOSING_QUOTE: `a quoted cell of this row continues after its closing quote. ${DOUBLE_QUOTES}`,
  INVALID_OPENING_QUOTE: `a cell of this row has a quote in it, but does not begin with one. Put the whole cell in quotes. ${DOUBLE_QUOTES}`,
  CSV_MAX_RECORD_SIZE: `the row has more than ${constants.maxLineMiB} MiB, or a quote in it never closes. ${DOUBLE_QUOTES}`,
};

/**
 * Reads the rows of a CSV or TSV file, whose first line names the columns. Cells are strings.
 * @throws KitError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with file and line
 */
export async function* readCsv(path: string): AsyncGenerator<TableRow> {
  const chunks = readUtf8(path);
  try {
    const first = chunks.next().value ?? Buffer.alloc(0);
    yield* parseCsv(path, first, chunks);
  } finally {
    // Stopping early closes the file.
    chunks.return(undefined);
  }
}

async function* parseCsv(
  path: string,
  first: Buffer,
  rest: Iterable<Buffer>,
): AsyncGenerator<TableRow> {
  const { parse } = await import("csv-parse");
  const [separatorLine = "", separator] = SEPARATOR_LINE.exec(first.toString("latin1")) ?? [];
  const header = first.subarray(separatorLine.length);
  const delimiter = separator ?? (isTsv(path) ? "\t" : delimiterOf(header));
  const rows = createRows(path, delimiter, separatorLine === "" ? 1 : 2);
  const options: Options<TableRow, string[]> = {
    delimiter,
    record_delimiter: ["\r\n", "\n", "\r"],
    skip_empty_lines: true,
    // Kit's own error says what to do.
    relax_column_count: true,
    max_record_size: MAX_ROW_BYTES,
    on_record: (cells, info) => rows.take(cells, info),
  };
  // csv-parse's types don't cover `on_record` with arrays.
  const parser = parse(options as Options<unknown> as Options);
  function* all(): Generator<Buffer> {
    yield header;
    yield* rest;
  }
  // The loop below throws the parser's errors.
  pipeline(all(), parser, () => {});
  try {
    for await (const row of parser) yield row as TableRow;
  } catch (cause) {
    if (isKitError(cause)) throw cause;
    const problem = problemOf(cause as CsvError);
    throw invalid(rows.where(parser.info.empty_lines), problem, cause);
  }
  if (!rows.hasHeader()) {
    throw invalid(
      `${path}:1`,
      "the file is empty. Write the names of the columns on its first line.",
    );
  }
}

/** The most frequent delimiter of the first line, outside quotes. */
function delimiterOf(start: Buffer): string {
  const delimiters = Object.keys(DELIMITERS);
  const counts = new Map(delimiters.map((delimiter) => [delimiter, 0]));
  let isQuoted = false;
  // Blank lines may come before the header.
  for (const character of start.toString().replace(/^[\r\n]*/, "")) {
    if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (character === "\n" || character === "\r") break;
    else if (counts.has(character)) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  const maxCount = Math.max(...counts.values());
  return delimiters.find((delimiter) => counts.get(delimiter) === maxCount) ?? ",";
}

/** Converts cells to records, and tracks the line on which each row begins. */
function createRows(path: string, delimiter: string, firstLine: number) {
  let names: string[] | undefined;
  /** Where the next row begins, not counting blank lines. */
  let line = firstLine;
  const where = (blank: number) => `${path}:${line + blank}`;
  return {
    where,
    hasHeader: () => names !== undefined,
    take(cells: string[], info: InfoRecord): TableRow | undefined {
      const here = where(info.empty_lines);
      line += cells.reduce((sum, cell) => sum + newlinesIn(cell), 1);
      if (names === undefined) {
        names = headerOf(cells, here);
        return undefined;
      }
      const filled = filledLength(cells);
      // Spreadsheets save empty rows.
      if (filled === 0) return undefined;
      if (cells.length < names.length || filled > names.length) {
        const count = cells.length < names.length ? cells.length : filled;
        throw invalid(
          here,
          `the row has ${formatCounted(count, "cell")}, but the header has ${formatCounted(names.length, "column")}. Put quotes around a cell that has a ${DELIMITERS[delimiter] ?? delimiter} or a line break.`,
        );
      }
      return { value: Object.fromEntries(names.map((name, i) => [name, cells[i]])), where: here };
    },
  };
}

function headerOf(cells: string[], where: string): string[] {
  // Spreadsheets save empty columns.
  const all = cells.map((cell) => cell.trim());
  const names = all.slice(0, Math.max(1, filledLength(all)));
  const duplicate = duplicateIn(names);
  if (duplicate === undefined) return names;
  const which = duplicate === "" ? "without a name" : `named ${JSON.stringify(duplicate)}`;
  throw invalid(where, `two columns ${which}. Give each column a name of its own.`);
}

/** Number of cells up to the last non-empty one. */
function filledLength(cells: string[]): number {
  return cells.findLastIndex((cell) => cell !== "") + 1;
}

function isTsv(path: string): boolean {
  return /\.tsv(\.gz)?$/i.test(path);
}

function problemOf({ code, message }: CsvError): string {
  return PROBLEMS[code] ?? `not valid CSV (${message}). Save the file again.`;
}
