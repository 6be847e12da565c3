import * as jinja from "@huggingface/jinja";
import { messageOf } from "../../protocol/error.ts";
import { GLOBALS, createScope } from "./jinja/globals.ts";
import { createInterpreter } from "./jinja/interpreter.ts";
import type { Statement } from "./jinja/syntax.ts";
import { UnsupportedInTemplate } from "./jinja/unsupported.ts";
import { fromJson } from "./jinja/values.ts";
import { type Budget, createMeter } from "./templateBudget.ts";
import { strftime } from "./templateDate.ts";
import { limitTime } from "./timeLimit.ts";

/** The only part of the package that Kit uses, its parser. The package's own types need a bundler. */
interface Library {
  Template: new (source: string) => { parsed: { body: Statement[] } };
}

// A static import, so that file tracers find the package; using one export keeps the bundle small.
const Template = (jinja as unknown as Library).Template;

type Values = Record<string, unknown>;

/**
 * Compiles a template that renders as in Python's Jinja. The package parses it, and Kit evaluates it,
 * since the package would compute with JavaScript's values, not Python's.
 * @returns renders variables as `parseJson` returns them; throws if that exceeds the budget
 * @throws UnsupportedInTemplate for an unsupported statement, or Error for text that isn't Jinja
 */
export function createTemplate(
  source: string,
): (values: Values, budget: Budget, now?: Date) => string {
  const parsed = parse(source.replaceAll(/\r\n?/g, "\n"));
  return (values, { steps, characters, milliseconds }, now = new Date()) => {
    const variables = Object.entries(values).map(
      ([name, value]) => [name, fromJson(value)] as const,
    );
    const strftimeNow = ([format]: unknown[]) => strftime(String(format), now);
    const scope = createScope(
      undefined,
      new Map([...GLOBALS, ["strftime_now", strftimeNow], ...variables]),
    );
    const { render } = createInterpreter(createMeter(steps));
    const text = limitTime(() => render(parsed.body, scope), milliseconds);
    if (text.length <= characters) return text;
    throw new Error(`it writes more than ${characters} characters`);
  };
}

/** The package's error for a statement that it can't parse. */
const UNKNOWN_STATEMENT = /^Unknown statement type: (?!end|elif$|else$)(\w+)$/;

function parse(source: string): { body: Statement[] } {
  try {
    return limitTime(() => new Template(source)).parsed;
  } catch (error) {
    const [, statement] = UNKNOWN_STATEMENT.exec(messageOf(error)) ?? [];
    if (statement === undefined) throw error;
    throw new UnsupportedInTemplate(`it uses the statement "${statement}"`);
  }
}
