import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { type Constraint, createConstraints } from "../../../engines/answers/grammar/constraint.ts";
import { SUPPORTED_KEYWORDS } from "../../../engines/answers/grammar/schemaNode.ts";
import { type Random, createRandom } from "../../../engines/dataset/random.ts";
import { BYTE_TOKENIZER } from "../../../engines/tokens/byteTokenizer.ts";
import { SPECIALS } from "../../../engines/tokens/byteTokens.ts";
import type { JsonSchema } from "../../../protocol/infer.ts";
import { HELD } from "./schemas.ts";

/** Of these many draws, some do not end; so many answers are enough. */
const [DRAWS, ENOUGH] = [60, 24];
const LONGEST = 600;
const IDS = Array.from({ length: 264 }, (_, id) => id);
/** An end, or what leads to one: drawn more often than by chance. */
const LEADING = new Set([SPECIALS.eos, ...Buffer.from('"}]ab')]);

/** Draws an answer, byte by byte; undefined for one that does not end. */
function drawn(constraint: Constraint, random: Random): string | undefined {
  const bytes: number[] = [];
  const pick = (some: number[]) => some[Math.floor(random.uniform() * some.length)]!;
  while (bytes.length < LONGEST) {
    const mask = constraint.allowed();
    const may = (id: number) => ((mask[id >>> 5]! >>> (id & 31)) & 1) === 1;
    const all = IDS.filter(may);
    // `expect` at each byte takes most of the time.
    if (all.length === 0) throw new Error(`Nothing may follow ${Buffer.from(bytes).toString()}`);
    const leading = all.filter((id) => LEADING.has(id));
    const token = leading.length > 0 && random.uniform() < 0.3 ? pick(leading) : pick(all);
    if (constraint.mayEnd() !== may(SPECIALS.eos)) throw new Error("It ends where it may not.");
    if (token === SPECIALS.eos) {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
        Uint8Array.from(bytes),
      );
    }
    constraint.accept(token);
    bytes.push(token);
  }
  return undefined;
}

const isOld = (schema: JsonSchema) => /"items":\[|additionalItems/.test(JSON.stringify(schema));

function validatorOf(schema: JsonSchema) {
  const ajv = new (isOld(schema) ? Ajv : Ajv2020)({ strict: false });
  (addFormats as unknown as (to: unknown) => void)(ajv);
  return ajv.compile(schema as object);
}

test("each keyword that is honoured has a schema here", () => {
  expect(Object.keys(HELD).sort()).toEqual([...SUPPORTED_KEYWORDS].sort());
});

test.each(Object.entries(HELD))(
  "any answer that is held to %s parses and validates",
  (name, schemas) => {
    const random = createRandom(1, name);
    for (const schema of schemas) {
      const validate = validatorOf(schema);
      const { create } = createConstraints(BYTE_TOKENIZER);
      const texts = new Set<string>();
      let ended = 0;
      for (let i = 0; i < DRAWS && ended < ENOUGH; i++) {
        const text = drawn(create({ schema }), random);
        if (text === undefined) continue;
        ended++;
        texts.add(text);
        const said = `${JSON.stringify(schema)} ${text}`;
        const value: unknown = JSON.parse(text);
        if (!validate(value)) throw new Error(`${said} ${JSON.stringify(validate.errors)}`);
      }
      expect(texts.size, JSON.stringify(schema)).toBeGreaterThan(0);
    }
  },
);
