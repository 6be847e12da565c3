import * as jinja from "@huggingface/jinja";
import { messageOf } from "../../protocol/error.ts";
import { GLOBALS, createScope } from "./jinja/globals.ts";
import { createInterpreter } from "./jinja/interpreter.ts";
import type { Statement } from "./jinja/syntax.ts";
import { UnknownToKit } from "./jinja/unknownToKit.ts";
import { fromJson } from "./jinja/values.ts";
import { type Budget, createMeter } from "./templateBudget.ts";
import { strftime } from "./templateDate.ts";
import { limitTime } from "./timeLimit.ts";

/** The part of the library that is used, its parser; its own types need a bundler. */
interface Library {
  Template: new (source: string) => { parsed: { body: Statement[] } };
}

// Imported, not required: file tracers find no other form.
// By its own name, so that the bundle holds no other.
const Template = (jinja as unknown as Library).Template;

type Values = Record<string, unknown>;

/**
 * A template as Python's Jinja renders it. The library reads it; Kit evaluates it, for JavaScript's
 * values differ from Python's.
 * @returns a function of values as `parseJson` gives them, and of the time that it is; it throws where
 *   the rendering exceeds its budget
 * @throws UnknownToKit for a statement that the library does not read, or Error for a text that is not Jinja
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

/** Others may only stand within one that the library reads. */
const UNREAD = /^Unknown statement type: (?!end|elif$|else$)(\w+)$/;

function parse(source: string): { body: Statement[] } {
  try {
    return limitTime(() => new Template(source)).parsed;
  } catch (error) {
    const [, statement] = UNREAD.exec(messageOf(error)) ?? [];
    if (statement === undefined) throw error;
    throw new UnknownToKit(`it uses the statement "${statement}"`);
  }
}
