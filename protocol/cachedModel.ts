/** A model of the hub on this machine, as a trainer without an engine of its own sees it. */
export interface CachedModel {
  /** `org/name`, with `@revision` unless that is `main`. */
  name: string;
  /** Total of all its files. */
  bytes: number;
  /** Such as `LlamaForCausalLM`, if its configuration says so. */
  architecture: string | undefined;
  /** A count, of a model that can be read. */
  parameters: number | undefined;
  /** Why it cannot be trained. */
  problem: string | undefined;
}
