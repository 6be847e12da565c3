import { isPretrained } from "../../protocol/trainConfig.ts";

/** A model or dataset on the hub: its repository, and a branch, tag or commit of it. */
export interface HubName {
  repoType: "model" | "dataset";
  /** `org/name` */
  repo: string;
  revision: string;
}

const DEFAULT_REVISION = "main";

/** The branch with the hub's Parquet conversion of a dataset: one folder for each config and split. */
const PARQUET_REVISION = "refs/convert/parquet";

/** The rules of `huggingface_hub`, except that the organization or user is required. */
const REPO = /^\w([\w.-]*\w)?\/\w([\w.-]{0,94}\w)?$/;
const FORBIDDEN = /--|\.\.|\.git$/;
const REVISION = /^\w[\w.-]*(\/\w[\w.-]*)*$/;

/** Parses `org/name` or `org/name@revision`; undefined for other names. */
export function parseHubName(name: string): HubName | undefined {
  if (!isPretrained(name)) return undefined;
  const [repo = "", revision = DEFAULT_REVISION, ...more] = name.split("@");
  if (!isRepo(repo) || !isRevision(revision) || more.length > 0) return undefined;
  return { repoType: "model", repo, revision };
}

/** A dataset's name; undefined if invalid. @param revision default: the hub's Parquet conversion */
export function datasetName(repo: string, revision = PARQUET_REVISION): HubName | undefined {
  if (!isRepo(repo) || !isRevision(revision)) return undefined;
  return { repoType: "dataset", repo, revision };
}

/** Whether it is the hub's Parquet conversion. */
export function isParquetConversion({ revision }: HubName): boolean {
  return revision === PARQUET_REVISION;
}

function isRepo(repo: string): boolean {
  return REPO.test(repo) && !FORBIDDEN.test(repo);
}

function isRevision(revision: string): boolean {
  return REVISION.test(revision) && !revision.includes("..");
}

export function isCommit(revision: string): boolean {
  return /^[0-9a-f]{40}$/.test(revision);
}
