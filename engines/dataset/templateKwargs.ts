import { type TemplateInput, problemOfKwargs } from "../../protocol/chat.ts";
import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import type { RowForm } from "./rowForm.ts";

const NAME = "chat_template_kwargs";

/** Rows of a form that may have variables of the chat template, too, as TRL's may. */
export function withKwargs<Row extends object>(form: RowForm<Row>): RowForm<Row> {
  return {
    ...form,
    parse(value, where, ignored) {
      const row = form.parse(value, where, ignored);
      const kwargs = isRecord(value) ? (value[NAME] ?? undefined) : undefined;
      if (kwargs === undefined) return row;
      const problem = form.isText(row) ? 'stands beside a "text"' : problemOfKwargs(kwargs);
      if (problem === undefined) return { ...row, [NAME]: kwargs };
      throw new KitError(
        "DATASET_INVALID",
        `${where}: "${NAME}" ${problem}. Write it beside a conversation as {"${NAME}":{"enable_thinking":false}}, or remove it.`,
      );
    },
    rightAnswerOf(row) {
      const answer = form.rightAnswerOf(row);
      const { [NAME]: kwargs } = row as TemplateInput;
      return answer && kwargs ? { ...answer, [NAME]: kwargs } : answer;
    },
  };
}
