import { isPretrained } from "../../protocol/trainConfig.ts";

/** A model on the hub: its repository, and a branch, tag or commit of it. */
export interface HubName {
  /** `org/name` */
  repo: string;
  revision: string;
}

const DEFAULT_REVISION = "main";

/** As `huggingface_hub` checks it, with an organisation or user. */
const REPO = /^\w([\w.-]*\w)?\/\w([\w.-]{0,94}\w)?$/;
const FORBIDDEN = /--|\.\.|\.git$/;
const REVISION = /^\w[\w.-]*(\/\w[\w.-]*)*$/;

/** Reads `org/name` or `org/name@revision`; undefined for another name. */
export function parseHubName(name: string): HubName | undefined {
  if (!isPretrained(name)) return undefined;
  const [repo = "", revision = DEFAULT_REVISION, ...more] = name.split("@");
  const isRepo = REPO.test(repo) && !FORBIDDEN.test(repo);
  const isRevision = REVISION.test(revision) && !revision.includes("..");
  return isRepo && isRevision && more.length === 0 ? { repo, revision } : undefined;
}

/** Whether it is a commit hash. */
export function isCommit(revision: string): boolean {
  return /^[0-9a-f]{40}$/.test(revision);
}
