import type { Message, TemplateInput } from "../../protocol/chat.ts";
import { WholeFloat } from "../../protocol/json.ts";
import { SYSTEM_KEYS } from "../../protocol/system.ts";
import type { IgnoredKeys } from "./ignoredKeys.ts";
import { type DatasetCheck, withKwargs } from "./rowFormat.ts";
import {
  OTHER_NAMES_HINT,
  answerIn,
  promptAndCompletion,
  isPairKey,
  lastAnswer,
  parseRowObject,
  questionIn,
  withSystemOf,
  answerTexts,
} from "./rowObject.ts";

/** A question, an answer, and whether the answer is desirable, whatever the line's format. */
export interface LabelledAnswer extends TemplateInput {
  prompt: Message[];
  completion: Message[];
  label: boolean;
}

const EXPECTED_LABELLED =
  '{"prompt":"…","completion":"…","label":true} or {"messages":[…],"label":false}';

/** Labels as JSON, databases and text tables write them. */
const LABELS = new Map<unknown, boolean>([
  ...[true, 1, "true", "1"].map((label) => [label, true] as const),
  ...[false, 0, "false", "0"].map((label) => [label, false] as const),
]);

/** @throws KitError `DATASET_INVALID`, its message beginning with `where` */
function parseLabelledAnswer(value: unknown, where: string, ignored?: IgnoredKeys): LabelledAnswer {
  const object = parseRowObject(value, where, EXPECTED_LABELLED);
  const { row, tools, fail } = object;
  if (Object.keys(row).some(isPairKey)) {
    return fail('two answers, which the objective "dpo" learns from, not "kto"');
  }
  if (row.label === undefined) {
    return fail(`no "label" that says whether the answer is good${OTHER_NAMES_HINT}`);
  }
  const label = LABELS.get(normalizedLabel(row.label));
  if (label === undefined) return fail('"label" is neither true nor false');
  const { prompt, completion } =
    "messages" in row ? lastAnswer(object) : promptAndCompletion(object);
  if (prompt === undefined) return fail(`no "prompt" or "messages"${OTHER_NAMES_HINT}`);
  if (completion === undefined) return fail('a "prompt" without a "completion"');
  const answerKeys = "messages" in row ? ["messages"] : ["prompt", "completion"];
  ignored?.add(row, [...answerKeys, "label", ...SYSTEM_KEYS]);
  return {
    prompt: withSystemOf(object, questionIn(object, "prompt", prompt)),
    completion: answerIn(object, "completion", completion),
    label,
    ...(tools && { tools }),
  };
}

/** pandas and Arrow write a label as `1.0` if some rows lack one. */
function normalizedLabel(label: unknown): unknown {
  if (typeof label === "string") return label.toLowerCase();
  return label instanceof WholeFloat ? Number(label) : label;
}

/** Warns if all labels are equal, which leaves nothing to compare. */
function checkLabels(): DatasetCheck<LabelledAnswer> {
  const kinds = new Set<boolean>();
  return {
    add: ({ label }) => void kinds.add(label),
    report(name, note) {
      if (kinds.size !== 1) return;
      const [kind, other] = kinds.has(true) ? ["good", "bad"] : ["bad", "good"];
      note(`warning: every answer of ${name} is labelled ${kind}: add some that are ${other}`);
    },
  };
}

export const LABELLED_FORMAT = withKwargs<LabelledAnswer>({
  expected: EXPECTED_LABELLED,
  parse: parseLabelledAnswer,
  columns: {
    formats: [
      ["messages", "label"],
      ["prompt", "completion", "label"],
    ],
    answer: ["completion", "label"],
  },
  answersOf: ({ completion }) => answerTexts(completion),
  rightAnswerOf: ({ prompt, completion, label, tools }) =>
    label ? { messages: [...prompt, ...completion], ...(tools && { tools }) } : undefined,
  createCheck: checkLabels,
  isText: () => false,
});
