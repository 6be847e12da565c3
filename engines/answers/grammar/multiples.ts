import { decimalOf } from "./decimal.ts";
import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";
import { unsupported } from "./schemaNode.ts";

const POINT_AND_DIGITS = Array.from({ length: 12 }, (_, i) => 0x2e + i);
/** Maximum factor, without its point and trailing zeros: the automaton has a state for each remainder. */
const MAX_MODULUS = 400;

/**
 * Exact decimal multiples of any sign, with at most as many decimals as the factor. Leading zeros are allowed, so
 * intersect the result with a number's grammar.
 */
export function multiplesOf(grammar: Expressions, factor: number | bigint): Expression {
  const { whole, fraction } = decimalOf(factor);
  const decimals = fraction.length;
  const digits = `${whole}${fraction}`;
  const zeros = decimals > 0 ? 0 : /0*$/.exec(digits)![0].length;
  const modulus = Number(digits) / 10 ** zeros;
  if (modulus > MAX_MODULUS)
    throw unsupported(`"multipleOf" ${factor}, which is too large or has too many digits`);
  const found = grammar.sequence(
    grammar.repeat(grammar.text("-"), 0, 1),
    multipleNumbers(grammar, modulus, decimals),
  );
  return zeros === 0
    ? found
    : grammar.either(
        grammar.sequence(found, grammar.text("0".repeat(zeros))),
        grammar.text("0"),
        grammar.text("-0"),
      );
}

/** Numbers with at most `decimals` decimals whose digits, without the point, are a multiple of `modulus`. */
function multipleNumbers(grammar: Expressions, modulus: number, decimals: number): Expression {
  const scales = Array.from({ length: decimals + 1 }, (_, i) =>
    Number(10n ** BigInt(i) % BigInt(modulus)),
  );
  const classStarts = new Set([0, ...POINT_AND_DIGITS, 0x3a]);

  /** @param remainder of the digits so far @param left decimals that may follow; undefined before the point */
  function state(remainder: number, left: number | undefined, hasDigit: boolean): Expression {
    return grammar.intern(`m${modulus},${decimals},${remainder},${left},${hasDigit}`, () => ({
      isNullable: hasDigit && (remainder * scales[left ?? decimals]!) % modulus === 0,
      derive(byte) {
        if (byte === 0x2e && hasDigit && left === undefined && decimals > 0)
          return state(remainder, decimals, false);
        const digit = byte - 0x30;
        if (digit < 0 || digit > 9 || left === 0) return grammar.none;
        return state((remainder * 10 + digit) % modulus, left && left - 1, true);
      },
      classStarts: () => classStarts,
    }));
  }

  return state(0, undefined, false);
}
