import { basename } from "node:path";
import { isRecord } from "../../../protocol/isRecord.ts";
import { parseJson } from "../../../protocol/json.ts";
import { textNotJson } from "../notJson.ts";
import { invalid } from "./tableRow.ts";

/** What a row of Kit has, in whichever form. */
const FIELDS = [
  "messages",
  "tools",
  "prompt",
  "completion",
  "text",
  "chosen",
  "rejected",
  "label",
] as const;

type Field = (typeof FIELDS)[number];

/** The column that each part of a row is in. */
export type Columns = Partial<Record<Field, string>>;

/** The parts of each form of a kind of rows; the first form whose columns are all there is taken. */
export type TableForms = readonly (readonly Field[])[];

/** Right answers. Texts, and other projects' tables of both, are read too. */
export const ANSWERS: TableForms = [["messages"], ["prompt", "completion"]];

/** Whose messages are called otherwise, ShareGPT's. */
const SHAREGPT = "conversations";
/** What some of both have besides: a first message, and earlier turns. */
const [SYSTEM, HISTORY] = ["system", "history"];
const ALPACA = { instruction: "instruction", input: "input", output: "output" };

/** Columns that have JSON where a table has only text. */
const JSON_COLUMNS = {
  messages: "a list of messages",
  tools: "a list of tools",
  [SHAREGPT]: "a list of messages",
};

const ROLES: Record<string, string> = {
  system: "system",
  human: "user",
  user: "user",
  gpt: "assistant",
  assistant: "assistant",
  chatgpt: "assistant",
  bing: "assistant",
  bard: "assistant",
  tool: "tool",
  function: "tool",
};

/** An error names at most so many columns. */
const MOST_NAMED = 20;

/** How a record becomes a row. */
type Mapping =
  | { kind: "columns"; columns: Columns }
  | { kind: "shareGpt" }
  | { kind: "alpaca"; hasInput: boolean };

/**
 * Turns a record of a table into a row in one of Kit's forms, which `parseRow` checks.
 * @param where for error messages: file and line, or file and row
 * @param columns as asked for; undefined means by the names of the columns
 * @throws KitError `DATASET_INVALID`, its message beginning with `where`
 */
export function mapRow(
  value: Record<string, unknown>,
  where: string,
  columns?: Columns,
  forms = ANSWERS,
): Record<string, unknown> {
  const mapping = mappingOf(Object.keys(value), where, columns, forms);
  switch (mapping.kind) {
    case "columns":
      return Object.fromEntries(
        named(mapping.columns)
          .map(([field, column]) => [field, fieldOf(field, value[column], where, column)])
          .filter(([, one]) => one !== undefined),
      ) as Record<string, unknown>;
    case "shareGpt":
      return {
        ...withSystem(value[SYSTEM], shareGptMessages(value[SHAREGPT], where), where),
        ...(isBlank(value["tools"])
          ? {}
          : { tools: fieldOf("tools", value["tools"], where, "tools") }),
      };
    case "alpaca":
      return alpacaRow(value, where);
  }
}

/**
 * How the columns of a table become rows, as a line for people.
 * @param names the table's columns
 * @throws KitError `DATASET_INVALID` when they don't
 */
export function formOf(names: string[], path: string, columns?: Columns, forms = ANSWERS): string {
  const file = basename(path);
  const mapping = mappingOf(names, path, columns, forms);
  switch (mapping.kind) {
    case "columns": {
      const parts = named(mapping.columns).map(([field, column]) =>
        field === column ? field : `${column} → ${field}`,
      );
      return `${file}: ${parts.length === 1 ? "column" : "columns"} ${parts.join(", ")}`;
    }
    case "shareGpt":
      return `${file}: ShareGPT ${SHAREGPT} → messages`;
    case "alpaca": {
      const prompt = mapping.hasInput ? "instruction, input" : "instruction";
      return `${file}: Alpaca ${prompt} → prompt, output → completion`;
    }
  }
}

/**
 * The columns that rows are made of.
 * @param names the table's columns
 * @throws KitError `DATASET_INVALID` when no row can be made of them
 */
export function neededColumns(
  names: string[],
  path: string,
  columns?: Columns,
  forms = ANSWERS,
): string[] {
  const mapping = mappingOf(names, path, columns, forms);
  switch (mapping.kind) {
    case "columns":
      return named(mapping.columns).map(([, column]) => column);
    case "shareGpt":
      return [SHAREGPT, SYSTEM, "tools"].filter((name) => names.includes(name));
    case "alpaca":
      return [...Object.values(ALPACA), SYSTEM, HISTORY].filter((name) => names.includes(name));
  }
}

function mappingOf(
  names: string[],
  where: string,
  columns: Columns | undefined,
  forms: TableForms,
): Mapping {
  if (columns) {
    const [missing] = named(columns).filter(([, column]) => !names.includes(column));
    if (missing === undefined) return { kind: "columns", columns };
    throw invalid(
      where,
      `no column ${JSON.stringify(missing[1])}. Set columns.${missing[0]} to one of ${list(names)}.`,
    );
  }
  const areAnswers = forms === ANSWERS;
  const form = forms.find((fields) => fields.every((field) => names.includes(field)));
  if (form) {
    const fields = names.includes("tools") ? [...form, "tools"] : form;
    return { kind: "columns", columns: Object.fromEntries(fields.map((field) => [field, field])) };
  }
  if (areAnswers && names.includes(SHAREGPT)) return { kind: "shareGpt" };
  if (areAnswers && names.includes(ALPACA.instruction) && names.includes(ALPACA.output)) {
    return { kind: "alpaca", hasInput: names.includes(ALPACA.input) };
  }
  // Alpaca's own file has all of a row as a text, too.
  if (areAnswers && names.includes("text")) return { kind: "columns", columns: { text: "text" } };
  throw invalid(
    where,
    `Kit cannot tell which columns to learn from among ${list(names)}. Set columns, for example ${exampleOf(forms)}.`,
  );
}

/** Columns of the form of questions, by other names. */
function exampleOf(forms: TableForms): string {
  const form = forms.find((fields) => fields.includes("prompt")) ?? [];
  return `{ ${form.map((field) => `${field}: "${OTHER_NAMES[field] ?? field}"`).join(", ")} }`;
}

const OTHER_NAMES: Partial<Record<Field, string>> = {
  prompt: "question",
  completion: "answer",
  chosen: "better",
  rejected: "worse",
  label: "good",
};

function named(columns: Columns): [field: Field, column: string][] {
  return FIELDS.flatMap((field) => {
    const column = columns[field];
    return column === undefined ? [] : [[field, column] as [Field, string]];
  });
}

function list(names: string[]): string {
  const shown = names.slice(0, MOST_NAMED).map((name) => JSON.stringify(name));
  const more = names.length - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${more} others` : "");
}

function fieldOf(field: Field, value: unknown, where: string, column: string): unknown {
  // Words, or the messages of a conversation.
  if ((field === "chosen" || field === "rejected") && isJsonList(value)) {
    return fromJson(value, where, column, JSON_COLUMNS.messages);
  }
  if (field !== "messages" && field !== "tools") return value;
  // A row without tools has an empty cell.
  if (field === "tools" && value === "") return undefined;
  return fromJson(value, where, column, JSON_COLUMNS[field]);
}

function isJsonList(value: unknown): boolean {
  return typeof value === "string" && /^\s*\[\s*\{\s*"role"/.test(value);
}

/** A list in a table that has only text is JSON. */
function fromJson(value: unknown, where: string, column: string, expected: string): unknown {
  if (typeof value !== "string") return value;
  try {
    return parseJson(value);
  } catch (cause) {
    const problem = textNotJson(cause, value, `${expected} as JSON`);
    throw invalid(where, `column ${JSON.stringify(column)} is ${problem}`, cause);
  }
}

function shareGptMessages(value: unknown, where: string): object[] {
  const turns = fromJson(value, where, SHAREGPT, JSON_COLUMNS[SHAREGPT]);
  if (!Array.isArray(turns)) {
    throw invalid(where, `"${SHAREGPT}" is not a list. Write a list of {"from":"…","value":"…"}.`);
  }
  return turns.map((turn: unknown, index) => {
    const at = `${SHAREGPT}[${index}]`;
    if (!isRecord(turn) || typeof turn.from !== "string" || typeof turn.value !== "string") {
      throw invalid(
        where,
        `${at} needs a "from" and a "value" string. If it has a "role" and a "content" instead, set columns: { messages: "${SHAREGPT}" }.`,
      );
    }
    const { from, value: content, weight } = turn;
    if (!Object.hasOwn(ROLES, from)) {
      throw invalid(
        where,
        `${at} is from ${JSON.stringify(from)}, which is none of ${Object.keys(ROLES).join(", ")}. Write one of these.`,
      );
    }
    return { role: ROLES[from], content, ...(weight === undefined ? {} : { weight }) };
  });
}

function alpacaRow(value: Record<string, unknown>, where: string): Record<string, unknown> {
  const { instruction, input, output } = value;
  for (const [name, one] of Object.entries({ instruction, input: input ?? "", output })) {
    if (typeof one !== "string") {
      throw invalid(where, `column ${JSON.stringify(name)} is not text. Write a string in it.`);
    }
  }
  const context = typeof input === "string" && input.trim() !== "" ? `\n\n${input}` : "";
  const prompt = `${instruction as string}${context}`;
  const history = value[HISTORY];
  if (Array.isArray(history) ? history.length > 0 : !isBlank(history)) {
    throw invalid(
      where,
      `column "${HISTORY}" has earlier turns, which Kit does not read. Set map, and return { messages }.`,
    );
  }
  if (isBlank(value[SYSTEM])) return { prompt, completion: output };
  const messages = [
    { role: "user", content: prompt },
    { role: "assistant", content: output },
  ];
  return withSystem(value[SYSTEM], messages, where);
}

/** A conversation that begins with its own column's words. */
function withSystem(system: unknown, messages: object[], where: string): { messages: object[] } {
  if (isBlank(system)) return { messages };
  if (typeof system === "string") {
    return { messages: [{ role: "system", content: system }, ...messages] };
  }
  throw invalid(where, `column "${SYSTEM}" is not text. Write a string in it.`);
}

function isBlank(value: unknown): boolean {
  return (
    value === undefined || value === null || (typeof value === "string" && value.trim() === "")
  );
}
