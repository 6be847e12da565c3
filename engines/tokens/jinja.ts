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

/** The library's parser, the only part in use; its own types need a bundler. */
interface Library {
  Template: new (source: string) => { parsed: { body: Statement[] } };
}

// An import, which file tracers recognize; a single name keeps the bundle small.
const Template = (jinja as unknown as Library).Template;

type Values = Record<string, unknown>;

/**
 * Compiles a template that renders as in Python's Jinja. The library parses it; Kit evaluates it, since
 * JavaScript's values differ from Python's.
 * @returns a function of values as `parseJson` gives them, and of the time; throws beyond its budget
 * @throws UnsupportedInTemplate for an unsupported statement, or Error for text that isn't Jinja
 */
export function createTemplate(
  source: string,
): (values: Values, budget: Budget, now?: Date) => string {
  const parsed = parse(source.replaceAll(/\r\n?/g, "\n"));
  return (values, { steps, characters, milliseconds }, now = new Date()) => {
    const given = Object.entries(values).map(([name, value]) => [name, fromJson(value)] as const);
    const strftimeNow = ([format]: unknown[]) => strftime(String(format), now);
    const scope = createScope(
      undefined,
      new Map([...GLOBALS, ["strftime_now", strftimeNow], ...given]),
    );
    const { render } = createInterpreter(createMeter(steps));
    const text = limitTime(() => render(parsed.body, scope), milliseconds);
    if (text.length <= characters) return text;
    throw new Error(`it writes more than ${characters} characters`);
  };
}

/** Statements that the library can't parse. */
const UNREAD = /^Unknown statement type: (?!end|elif$|else$)(\w+)$/;

function parse(source: string): { body: Statement[] } {
  try {
    return limitTime(() => new Template(source)).parsed;
  } catch (error) {
    const [, statement] = UNREAD.exec(messageOf(error)) ?? [];
    if (statement === undefined) throw error;
    throw new UnsupportedInTemplate(`it uses the statement "${statement}"`);
  }
}
