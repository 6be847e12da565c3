import { inspect } from "node:util";
import type { BaseIssue } from "valibot";
import { didYouMean } from "../../protocol/didYouMean.ts";
import { NESTED_SYNONYMS, OPTION_SYNONYMS, nameFor } from "./optionSynonyms.ts";

/** An object schema with the options as entries. */
export interface Owner {
  entries: object;
}

interface DescribeOptions {
  schema: Owner;
  /** Schemas of nested options. */
  nested?: Record<string, Owner>;
  /** Whether a value must not be printed. */
  hides: (name: string, value: unknown) => boolean;
}

/** Describes an invalid option: its name, the expected and the actual value. */
export function describeIssue(
  caller: string,
  issue: BaseIssue<unknown>,
  { schema, nested = {}, hides }: DescribeOptions,
): string {
  const keys = issue.path?.map(({ key }) => String(key)) ?? [];
  const option = keys.length > 0 ? `"${keys.join(".")}"` : "its argument";
  if (issue.expected === "never") {
    const unknown = keys.at(-1) ?? "";
    const owner = keys.slice(0, -1).join(".");
    const known = Object.keys((owner ? nested[owner] : schema)?.entries ?? {});
    const subject = owner ? `"${owner}"` : "It";
    const word = nameFor(unknown, owner ? (NESTED_SYNONYMS[owner] ?? {}) : OPTION_SYNONYMS);
    const meant =
      word !== undefined && known.includes(word)
        ? ` Did you mean "${word}"?`
        : didYouMean(unknown, known);
    return `${caller}: unknown option ${option}.${meant} ${subject} takes ${known.join(", ")}.`;
  }
  const input = issue.path?.at(-1)?.value ?? issue.input;
  if (keys.length > 0 && input === undefined) return `${caller} needs the option ${option}.`;
  if (hides(keys[0] ?? "", input)) return `${caller}: ${option} must be ${issue.message}.`;
  const found = inspect(input, { depth: 1, maxStringLength: 60, breakLength: Infinity });
  return `${caller}: ${option} must be ${issue.message}, but is ${found}.`;
}
