import { decimalOf } from "./decimal.ts";
import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";
import { unsupported } from "./schemaNode.ts";

const POINT_AND_DIGITS = Array.from({ length: 12 }, (_, i) => 0x2e + i);
/** Greatest factor, without its decimal point and the zeros at its end: an end is looked for among as many remainders. */
const MAX_MODULUS = 400;

/**
 * Decimal multiples, exactly, of any sign and with no more digits behind the point than the factor has. Zeros may come
 * first, so it is to be joined with what a number may be.
 */
export function multiplesOf(grammar: Expressions, factor: number | bigint): Expression {
  const { whole, fraction } = decimalOf(factor);
  const places = fraction.length;
  const digits = `${whole}${fraction}`;
  const zeros = places > 0 ? 0 : /0*$/.exec(digits)![0].length;
  const modulus = Number(digits) / 10 ** zeros;
  if (modulus > MAX_MODULUS)
    throw unsupported(`"multipleOf" ${factor}, which is too large or has too many digits`);
  const found = grammar.sequence(
    grammar.repeat(grammar.text("-"), 0, 1),
    multipleNumbers(grammar, modulus, places),
  );
  return zeros === 0
    ? found
    : grammar.either(
        grammar.sequence(found, grammar.text("0".repeat(zeros))),
        grammar.text("0"),
        grammar.text("-0"),
      );
}

/** Digits, with as many places behind a point at most, that without the point are a multiple. */
function multipleNumbers(grammar: Expressions, modulus: number, places: number): Expression {
  const scales = Array.from({ length: places + 1 }, (_, i) =>
    Number(10n ** BigInt(i) % BigInt(modulus)),
  );
  const cuts = new Set([0, ...POINT_AND_DIGITS, 0x3a]);

  /** @param left places that may follow, or undefined before the point */
  function from(rest: number, left: number | undefined, hasDigit: boolean): Expression {
    return grammar.intern(`m${modulus},${places},${rest},${left},${hasDigit}`, () => ({
      isNullable: hasDigit && (rest * scales[left ?? places]!) % modulus === 0,
      derive(byte) {
        if (byte === 0x2e && hasDigit && left === undefined && places > 0)
          return from(rest, places, false);
        const digit = byte - 0x30;
        if (digit < 0 || digit > 9 || left === 0) return grammar.none;
        return from((rest * 10 + digit) % modulus, left && left - 1, true);
      },
      classStarts: () => cuts,
    }));
  }

  return from(0, undefined, false);
}
