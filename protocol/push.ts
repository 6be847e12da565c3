import type { LoadOptions } from "./engine.ts";
import type { ExportFormatName, GgufType } from "./exportFormat.ts";

/** The metadata by which Kit recognizes its own model cards: the checkpoint that one describes. */
export const CARD_CHECKPOINT = "kit_checkpoint";

/** What a card says about the model that another one started from. */
export interface BaseInfo {
  repo: string;
  license: string | undefined;
  licenseName: string | undefined;
  licenseLink: string | undefined;
  isGated: boolean;
}

/** What is pushed, for its card. */
export interface PushedModel {
  kind: "adapter" | "model" | "gguf";
  /** The name of the GGUF file. */
  file: string | undefined;
  /** Undefined if it isn't on the hub. */
  base: BaseInfo | undefined;
  /** Whether it takes conversations. */
  hasChatTemplate: boolean;
  /** Whether everybody can see the dataset. */
  isDatasetPublic: boolean;
}

/** How a checkpoint is pushed to the hub. */
export interface PushOptions extends Pick<LoadOptions, "signal" | "onNote"> {
  /** `org/name` */
  repo: string;
  /** Whether the repository is private: a new one becomes so, and a public one is refused. */
  isPrivate: boolean;
  /** The commit's first line. */
  title: string;
  /** The checkpoint's name in its card, unique to it. */
  checkpoint: string;
  /** The model's own name. */
  name: string;
  /** Default: the checkpoint's own files. */
  format?: ExportFormatName | undefined;
  /** Type of a GGUF file. */
  type?: GgufType | undefined;
  /** The starting model, if it may be on the hub. */
  startedFrom: string | undefined;
  /** A dataset on the hub. */
  dataset: string | undefined;
  /** Writes the card. */
  card: (model: PushedModel) => string;
}

export interface PushResult {
  /** The repository's page. */
  url: string;
  isPrivate: boolean;
  /** The newest commit. */
  commit: string;
  /** Names of the committed files; empty if all were there. */
  files: string[];
  /** Names of another model's files that the commit removed. */
  removed: string[];
  /** Size of the committed files. */
  bytes: number;
}
