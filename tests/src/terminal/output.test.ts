import { describe, expect, it } from "vitest";
import { type Output, createOutput, OUTPUT_LIMIT } from "../../../src/terminal/output.ts";

const LONE_SURROGATE = /\p{Surrogate}/u;

const textsOf = ({ blocks }: Output) =>
  blocks.map(({ segments }) => segments.map(({ text }) => text).join(""));
const textOf = (output: Output) => textsOf(output).join("");

function outputOf(...chunks: string[]): Output {
  const output = createOutput();
  chunks.forEach(output.write);
  return output.view();
}

describe("output", () => {
  it("is exactly the text that was written, where that is ordinary text", () => {
    const chunks = ["a\n\tb", "", "no newline ".repeat(5_000), "\n<b>&amp;</b> größer 🤖\n\n"];
    expect(textOf(outputOf(...chunks))).toBe(chunks.join(""));
  });

  it("leaves earlier blocks untouched as it grows, and breaks only between lines", () => {
    const output = createOutput();
    output.write("0123456789\n".repeat(5_000));
    const before = output.view();
    output.write("more\n");
    const after = output.view();
    expect(after.blocks.length).toBeGreaterThan(2);
    before.blocks.slice(0, -1).forEach((block, index) => expect(after.blocks[index]).toBe(block));
    for (const text of textsOf(after)) expect(text.endsWith("\n")).toBe(true);
    expect(textOf(after)).toBe(`${textOf(before)}more\n`);
  });

  it("drops the oldest text beyond its limit and counts what it dropped", () => {
    const output = createOutput();
    const segment = "0123456789\n".repeat(10_000);
    let written = 0;
    for (; written < OUTPUT_LIMIT * 1.5; written += segment.length) output.write(segment);
    const text = textOf(output.view());
    expect(text.length).toBeLessThanOrEqual(OUTPUT_LIMIT);
    expect(text.length).toBeGreaterThan(OUTPUT_LIMIT * 0.9);
    expect(output.view().dropped).toBe(written - text.length);
  });

  it("stays within its limit with a single endless line, and halves no character", () => {
    for (const chunk of ["😀".repeat(OUTPUT_LIMIT / 20), "x😀"]) {
      const output = createOutput();
      output.write("x");
      for (let size = 0; size < 2 * OUTPUT_LIMIT; size += chunk.length) output.write(chunk);
      expect(textOf(output.view()).length).toBeLessThanOrEqual(OUTPUT_LIMIT + 32_000);
      for (const text of textsOf(output.view())) expect(text).not.toMatch(LONE_SURROGATE);
    }
  });

  it("holds fewer characters where each has a colour of its own", () => {
    const output = createOutput();
    const line = Array.from({ length: 100 }, (_, n) => `\u001b[3${n % 8}m${n % 10}`).join("");
    for (let count = 0; count < 2_000; count++) output.write(`${line}\n`);
    const { blocks, dropped } = output.view();
    const segments = blocks.flatMap((block) => block.segments);
    expect(segments.length).toBeLessThan(25_000);
    expect(textOf(output.view()).length + dropped).toBe(101 * 2_000);
    for (const text of textsOf(output.view())) expect(text.endsWith("\n")).toBe(true);
  });
});
