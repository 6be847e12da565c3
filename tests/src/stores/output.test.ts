import { describe, expect, it } from "vitest";
import { append, NO_OUTPUT, OUTPUT_LIMIT, type Output } from "../../../src/stores/output.ts";

const LONE_SURROGATE = /\p{Surrogate}/u;

const textOf = (output: Output) => output.blocks.map(({ text }) => text).join("");

describe("output", () => {
  it("is exactly the text that was appended", () => {
    const pieces = ["a\r\nb", "\0\u001b[1m", "", "no newline ".repeat(5_000), "\nend\n\n"];
    const output = pieces.reduce(append, NO_OUTPUT);
    expect(textOf(output)).toBe(pieces.join(""));
  });

  it("leaves earlier blocks untouched as it grows, and breaks only between lines", () => {
    const before = append(NO_OUTPUT, "0123456789\n".repeat(5_000));
    const after = append(before, "more\n");
    expect(after.blocks.length).toBeGreaterThan(2);
    before.blocks.slice(0, -1).forEach((block, index) => expect(after.blocks[index]).toBe(block));
    for (const { text } of after.blocks) expect(text.endsWith("\n")).toBe(true);
  });

  it("drops the oldest text beyond its limit and counts what it dropped", () => {
    let output = NO_OUTPUT;
    const piece = "0123456789\n".repeat(10_000);
    let written = 0;
    for (; written < OUTPUT_LIMIT * 1.5; written += piece.length) output = append(output, piece);
    expect(textOf(output).length).toBeLessThanOrEqual(OUTPUT_LIMIT);
    expect(textOf(output).length).toBeGreaterThan(OUTPUT_LIMIT * 0.9);
    expect(output.dropped).toBe(written - textOf(output).length);
  });

  it("stays within its limit with a single endless line, and halves no character", () => {
    const output = append(NO_OUTPUT, `x${"😀".repeat(OUTPUT_LIMIT)}`);
    expect(textOf(output).length).toBeLessThanOrEqual(OUTPUT_LIMIT);
    for (const { text } of output.blocks) expect(text).not.toMatch(LONE_SURROGATE);
  });
});
