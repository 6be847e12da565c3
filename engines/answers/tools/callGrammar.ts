import type { Tool } from "../../../protocol/chat.ts";
import type { Expression, Expressions } from "../grammar/expressions.ts";
import { schemaGrammar } from "../grammar/schemaGrammar.ts";
import type { ToolForm } from "./toolForm.ts";

/** Calls in one answer, at most. */
const MOST_CALLS = 16;

/**
 * Calls of tools, one or more, as a chat template writes them, with arguments that the tools' schemas allow.
 * @throws KitError `REQUEST_INVALID` as `schemaGrammar`
 */
export function callGrammar(
  of: Expressions,
  { begin, separator, end, around }: ToolForm,
  tools: readonly Tool[],
): Expression {
  const [before, between, behind] = around;
  const call = of.either(
    ...tools.map(({ function: { name, parameters } }, i) =>
      of.sequence(
        of.text(before + JSON.stringify(name).slice(1, -1) + between),
        schemaGrammar(of, { type: "object", ...parameters }, `tool ${i}`),
        of.text(behind),
      ),
    ),
  );
  const more =
    separator === undefined
      ? of.empty
      : of.repeat(of.sequence(of.text(separator), call), 0, MOST_CALLS - 1);
  return of.sequence(of.text(begin), call, more, of.text(end));
}
