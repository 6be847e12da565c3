import type { ChatMessage, TemplateInput } from "./chat.ts";
import { isUrl } from "./url.ts";

/**
 * A file, a glob pattern such as `data/*.jsonl`, or several of them. With `ray()` also a URL of a JSONL
 * file that its workers read, such as `s3://bucket/train.jsonl` or `file:///data/train.jsonl`.
 */
export type DatasetPath = string | readonly string[];

export const DATASET_TYPES = ["jsonl", "csv", "parquet", "json"] as const;

export type FileType = (typeof DATASET_TYPES)[number];

/** The columns of a row's fields. */
export interface Columns {
  /** Column of conversations. Default: `messages`. */
  messages?: string;
  /** Column of tools. Default: `tools`, if it exists. */
  tools?: string;
  /** Column of prompts. Default: `prompt`. */
  prompt?: string;
  /** Column of completions. Default: `completion`. */
  completion?: string;
  /** Column of texts. Default: `text`. */
  text?: string;
  /** Column of chosen answers. Default: `chosen`. */
  chosen?: string;
  /** Column of rejected answers. Default: `rejected`. */
  rejected?: string;
  /** Column of labels: whether an answer is desirable. Default: `label`. */
  label?: string;
}

/** A message of a row. */
export interface DatasetMessage extends ChatMessage {
  /** For the assistant's: 0 if the model reads the answer but doesn't learn it. Default: 1. */
  weight?: 0 | 1;
}

/** A row to learn from. */
export type DatasetRow =
  | ({ messages: readonly DatasetMessage[] } & TemplateInput)
  | ({ prompt: string; completion: string } & TemplateInput)
  | { text: string };

/** Text, or the messages of a conversation. */
type Content = string | readonly ChatMessage[];

/** A row for the objective `"dpo"`: two answers, the better one chosen. */
export type PairRow =
  | ({ prompt: Content; chosen: Content; rejected: Content } & TemplateInput)
  | ({ chosen: readonly ChatMessage[]; rejected: readonly ChatMessage[] } & TemplateInput)
  | {
      input: { messages: readonly ChatMessage[] } & TemplateInput;
      preferred_output: readonly ChatMessage[];
      non_preferred_output: readonly ChatMessage[];
    };

/** A row for the objective `"kto"`: an answer, and whether it is desirable. */
export type LabelledRow = { label: boolean } & TemplateInput &
  ({ prompt: Content; completion: Content } | { messages: readonly ChatMessage[] });

/** A row of any objective. */
export type AnyRow = DatasetRow | PairRow | LabelledRow;

/** Rows in memory, or read from a database or another program. */
export type Rows = Iterable<AnyRow> | AsyncIterable<AnyRow>;

/** Converts a file's record to a row; `undefined` skips it. */
export type MapRow = (
  row: Record<string, unknown>,
) => AnyRow | undefined | Promise<AnyRow | undefined>;

/** How records of files become rows. */
interface RecordOptions {
  /**
   * Columns, or keys, to learn from; a `system` column is read, too. Default: Kit's own names, or those of
   * public data, such as ShareGPT, Alpaca, or `question` and `answer`.
   */
  columns?: Columns;
  /**
   * Maps a record to a row, or to `undefined` to skip it; called once per record. Default: records are rows.
   * @example map: ({ question, answer }) => ({ prompt: String(question), completion: String(answer) })
   */
  map?: MapRow;
}

/** Files to learn from. */
export interface DatasetFiles extends RecordOptions {
  /** Default: by file extension (`.csv`, `.tsv`, `.parquet`, `.json`), or else JSONL. */
  type?: FileType;
  /** Relative to the project. A URL must not contain a password or a key. */
  path: DatasetPath;
}

/** A split of a dataset on the Hugging Face hub. */
export interface HubSplit {
  /** `org/name` */
  name: string;
  /** Default: the only one, or `default`. */
  config?: string;
  /** Default: `train`. */
  split?: string;
  /**
   * A branch, tag or commit whose original files are read. Default: the hub's Parquet conversion of the
   * split.
   */
  revision?: string;
}

/** A dataset on the Hugging Face hub to learn from. */
export interface HubDataset extends HubSplit, RecordOptions {
  type: "hub";
}

/**
 * Training data: files, a hub dataset, rows, or a function that returns rows, called once when the job leaves
 * the queue.
 */
export type DatasetInput = DatasetFiles | HubDataset | Rows | (() => Rows | Promise<Rows>);

/** A dataset as `job.json` records it. */
export interface DatasetConfig extends Partial<HubSplit> {
  /** `code`: rows from the project's code. `hub`: a hub dataset, by its `name`. */
  type: FileType | "code" | "hub";
  /** Absolute once the job exists; empty for code and the hub. */
  path: DatasetPath;
  columns?: Columns;
  /** Whether the project's code maps the rows. */
  isMapped?: true;
}

/** The project's own code in a dataset. */
export interface DatasetCode {
  rows?: Rows | (() => Rows | Promise<Rows>);
  map?: MapRow;
}

/** A job whose folder has its datasets' rows. */
export interface MaterializedJob {
  directory: string;
  /** As read from its `job.json`, unvalidated. */
  config: Record<string, unknown>;
}

/** A config whose datasets are files that every engine can read. */
export interface MaterializedDatasets<Config> {
  config: Config;
  /** In an engine's message, replaces row locations in the job's folder with the original ones. */
  restoreLocations: (text: string) => string;
}

/** How a job's datasets are written to its folder. */
export interface MaterializeOptions {
  /** The project's own code in them. */
  code: { dataset?: DatasetCode; evalDataset?: DatasetCode };
  /** The folder that gets the files. */
  directory: string;
  /** The job that this one continues; rows made by code are reused. */
  from?: MaterializedJob | undefined;
  /** Called with messages for the user. */
  onNote: (text: string) => void;
  signal?: AbortSignal | undefined;
}

export function datasetPaths(path: DatasetPath): readonly string[] {
  return typeof path === "string" ? [path] : path;
}

/** Whether a cluster's workers read the files themselves: JSONL in Kit's row format, at URLs. */
export function isRemote({ type, path, columns, isMapped }: DatasetConfig): boolean {
  return type === "jsonl" && !columns && !isMapped && datasetPaths(path).some(isUrl);
}

const EXTENSIONS: Record<string, FileType> = {
  csv: "csv",
  tsv: "csv",
  parquet: "parquet",
  json: "json",
};

/** A file's type by its extension, before `.gz`; JSONL by default. */
export function typeOfFile(path: string): FileType {
  const [, extension = ""] = /\.([^./\\]+?)(\.gz)?$/i.exec(path) ?? [];
  return EXTENSIONS[extension.toLowerCase()] ?? "jsonl";
}
