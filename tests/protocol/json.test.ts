import { describe, expect, test } from "vitest";
import {
  JsonError,
  WholeFloat,
  keysOf,
  numberText,
  parseJson,
  stringifyJson,
  withPlainNumbers,
} from "../../protocol/json.ts";

describe("JSON keeps what Python keeps", () => {
  test.each([
    ["an integer beyond 2^53", '{"id":2512292042121000001}'],
    ["a negative one", "[-9223372036854775808]"],
    ["a float without a fraction", '{"amount":0.0,"other":[1.0,-0.0]}'],
    ["an exponent", "[1e+22,1.5e-07]"],
    ["keys that look like indices", '{"b":1,"10":2,"2":{"9":1,"a":2,"0":3}}'],
    ["a key named __proto__", '{"__proto__":{"1":1.0},"x":1}'],
    ["a key twice: the last value in the first place", '{"1":2,"0":3}'],
  ])("%s", (_, text) => {
    expect(stringifyJson(parseJson(text))).toBe(text.replace("1.5e-07", "1.5e-7"));
  });

  test("a key written twice has its last value, in its first place", () => {
    expect(stringifyJson(parseJson('{"a":1,"0":2,"a":3.0}'))).toBe('{"a":3.0,"0":2}');
  });

  test("plain JSON becomes plain values", () => {
    expect(parseJson('{"a":[1,2.5,"x",null,true,1e-7]}')).toEqual({
      a: [1, 2.5, "x", null, true, 1e-7],
    });
  });

  test("for users, a float is a number, and the order stays", () => {
    const plain = withPlainNumbers(parseJson('{"b":1.0,"1":[2.0,12345678901234567890]}')) as object;
    expect(keysOf(plain)).toEqual(["b", "1"]);
    expect(plain).toMatchObject({ b: 1, 1: [2, 12345678901234567890n] });
  });
});

test("numbers are written as Python writes them", () => {
  const floats = [0.1, 1e-4, 1e-5, 1.5e-7, 123456.789, 5e-324, 1.7976931348623157e308];
  expect(floats.map(numberText)).toEqual([
    ...["0.1", "0.0001", "1e-05", "1.5e-07", "123456.789", "5e-324"],
    "1.7976931348623157e+308",
  ]);
  const whole = [0, -0, 1, 1e15, 1e16, 1e22, 2 ** 70].map((value) => new WholeFloat(value));
  expect(whole.map(numberText)).toEqual([
    ...["0.0", "-0.0", "1.0", "1000000000000000.0", "1e+16", "1e+22", "1.1805916207174113e+21"],
  ]);
  expect([7, 2n ** 70n].map(numberText)).toEqual(["7", "1180591620717411303424"]);
});

test("values of code are written as JSON.stringify writes them", () => {
  const value = {
    a: undefined,
    b: [undefined, () => 1],
    c: new Date(0),
    d: "é\n",
    e: NaN,
    f: 1e21,
  };
  expect(stringifyJson(value)).toBe(JSON.stringify(value));
  expect(stringifyJson(undefined)).toBeUndefined();
});

test("an error says where", () => {
  expect(() => parseJson('{"a":1,}')).toThrow(JsonError);
  expect(() => parseJson('{"a":1,}')).toThrow(expect.objectContaining({ offset: 7 }));
});
