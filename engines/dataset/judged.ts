import type { Message, TemplateInput } from "../../protocol/chat.ts";
import { WholeFloat } from "../../protocol/json.ts";
import { SYSTEM_KEYS } from "../../protocol/system.ts";
import type { IgnoredKeys } from "./ignoredKeys.ts";
import { type RowWatch, withKwargs } from "./rowForm.ts";
import {
  OTHER_NAMES,
  answerIn,
  askedOnce,
  isOfPair,
  lastAnswer,
  parseRowObject,
  questionIn,
  withSystemOf,
  wordsOf,
} from "./rowObject.ts";

/** A question, an answer to it, and whether that is good, whichever form the line has. */
export interface Judged extends TemplateInput {
  prompt: Message[];
  completion: Message[];
  label: boolean;
}

const EXPECTED_JUDGED =
  '{"prompt":"…","completion":"…","label":true} or {"messages":[…],"label":false}';

/** The labels of JSON, of databases, and of tables whose cells are text. */
const LABELS = new Map<unknown, boolean>([
  ...[true, 1, "true", "1"].map((good) => [good, true] as const),
  ...[false, 0, "false", "0"].map((bad) => [bad, false] as const),
]);

/** @throws KitError `DATASET_INVALID`, its message beginning with `where` */
function parseJudged(value: unknown, where: string, ignored?: IgnoredKeys): Judged {
  const object = parseRowObject(value, where, EXPECTED_JUDGED);
  const { row, tools, fail } = object;
  if (Object.keys(row).some(isOfPair)) {
    return fail('two answers, which the objective "dpo" learns from, not "kto"');
  }
  if (row.label === undefined) {
    return fail(`no "label" that says whether the answer is good${OTHER_NAMES}`);
  }
  const label = LABELS.get(plainLabel(row.label));
  if (label === undefined) return fail('"label" is neither true nor false');
  const { prompt, completion } = "messages" in row ? lastAnswer(object) : askedOnce(object);
  if (prompt === undefined) return fail(`no "prompt" or "messages"${OTHER_NAMES}`);
  if (completion === undefined) return fail('a "prompt" without a "completion"');
  const answered = "messages" in row ? ["messages"] : ["prompt", "completion"];
  ignored?.add(row, [...answered, "label", ...SYSTEM_KEYS]);
  return {
    prompt: withSystemOf(object, questionIn(object, "prompt", prompt)),
    completion: answerIn(object, "completion", completion),
    label,
    ...(tools && { tools }),
  };
}

/** pandas and Arrow write a label as `1.0` where some rows lack one. */
function plainLabel(label: unknown): unknown {
  if (typeof label === "string") return label.toLowerCase();
  return label instanceof WholeFloat ? Number(label) : label;
}

/** Warns if all answers were judged alike, so that there is nothing to compare. */
function watchLabels(): RowWatch<Judged> {
  const kinds = new Set<boolean>();
  return {
    see: ({ label }) => void kinds.add(label),
    tell(name, note) {
      if (kinds.size !== 1) return;
      const [kind, other] = kinds.has(true) ? ["good", "bad"] : ["bad", "good"];
      note(
        `warning: every answer of ${name} is judged ${kind}, so none is compared with a ${other} one: add some that are ${other}`,
      );
    },
  };
}

/** Rows of judged answers. */
export const JUDGED_FORM = withKwargs<Judged>({
  expected: EXPECTED_JUDGED,
  parse: parseJudged,
  columns: {
    own: [
      ["messages", "label"],
      ["prompt", "completion", "label"],
    ],
    answer: ["completion", "label"],
  },
  answersOf: ({ completion }) => wordsOf(completion),
  rightAnswerOf: ({ prompt, completion, label, tools }) =>
    label ? { messages: [...prompt, ...completion], ...(tools && { tools }) } : undefined,
  watch: watchLabels,
  isText: () => false,
});
