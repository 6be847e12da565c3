import { describe, expect, it } from "vitest";
import type { StyledText } from "../../../src/terminal/row.ts";
import { createTerminal } from "../../../src/terminal/terminal.ts";

/** A terminal's text, adjacent segments of one style joined: text, or text with its classes. */
function shown(...chunks: string[]): (string | [text: string, style: string])[] {
  const segments: StyledText[] = [];
  const terminal = createTerminal((segment) => segments.push({ ...segment }));
  chunks.forEach(terminal.write);
  const joined: StyledText[] = [];
  for (const segment of [...segments, ...terminal.unfinished()]) {
    const last = joined.at(-1);
    if (last?.style === segment.style) last.text += segment.text;
    else joined.push({ ...segment });
  }
  return joined.map(({ text, style }) => (style ? [text, style] : text));
}

const text = (...chunks: string[]) =>
  shown(...chunks)
    .map((segment) => (typeof segment === "string" ? segment : segment[0]))
    .join("");

describe("a terminal", () => {
  it.each([
    ["a progress line", "10 %\r20 %\r100 %\ndone", "100 %\ndone"],
    ["a shorter text over a longer one", "100 of 200\r7", "700 of 200"],
    ["a line's end of Windows", "a  b\r\n\tc\r\n", "a  b\n\tc\n"],
    ["a return at the end", "step 2\r", "step 2"],
    ["letters of two halves", "🤖🤖🤖\rab", "ab🤖"],
    ["a backspace", "abc\b\bX\b\b\b\bY", "YXc"],
    ["an erased end", "100 of 200\r7\u001b[K", "7"],
    ["an erased line", "100 %\u001b[2K\rdone", "done"],
    ["an erased beginning", "abcdef\b\b\b\u001b[1K", "    ef"],
    ["all behind the cursor", "100 of 200\r7\u001b[J", "7"],
    ["a column by its number", "one two\u001b[5Gten\u001b[G1", "1ne ten"],
    ["columns to the left", "abcd\u001b[2DX\u001b[99DY", "YbXd"],
    ["columns to the right", "abcd\r\u001b[CX\u001b[4CY", "aXcd  Y"],
    ["the last column of a window", "\u001b[999CX", `${" ".repeat(119)}X`],
    ["what readline clears", "10 %\u001b[2K\u001b[1G20 %", "20 %"],
  ])("overwrites: %s", (_, written, expected) => {
    expect(text(written)).toBe(expected);
  });

  it.each([
    ["a move to a line by its number", "a\u001b[2Ab\u001b[10;20Hc\u001b[?25ld\u001b[2Je", "abcde"],
    ["a title", "a\u001b]0;training 10 %\u0007b", "ab"],
    ["a title with the other end", "a\u001b]0;training\u001b\\b", "ab"],
    ["a link's address", "\u001b]8;;https://example.org\u0007here\u001b]8;;\u0007", "here"],
    ["a title that never ends", "a\u001b]0;title\nb", "a\nb"],
    ["bells and nulls", "a\u0007\u0000\u007fb", "ab"],
    ["letters of other sets", "a\u001b(Bb\u001b=c\u001b7d", "abcd"],
    ["what is no sequence", "a\u001b[31\nb", "a[31\nb"],
    ["a sequence that does not end", `a\u001b[${"1".repeat(300)}`, `a[${"1".repeat(300)}`],
  ])("drops %s", (_, written, expected) => {
    expect(text(written)).toBe(expected);
  });

  /** As tqdm 4 with `position` and rich 14 wrote them. */
  it.each([
    [
      "tqdm",
      "begin\n\repoch 0/2\n\rstep 0/3\u001b[A\n\rstep 1/3\u001b[A\n\rstep 2/3\u001b[A\n\rstep 3/3\u001b[A\n\r        \u001b[A\repoch 1/2\n\rstep 0/3\u001b[A\n\rstep 1/3\u001b[A\n\rstep 2/3\u001b[A\n\rstep 3/3\u001b[A\n\r        \u001b[A\repoch 2/2\repoch 2/2\nmid\n\ra 0/2\n\rb 0/2\u001b[A\n\n\rc 0/2\u001b[A\u001b[A\ra 1/2\n\rb 1/2\u001b[A\n\n\rc 1/2\u001b[A\u001b[A\ra 2/2\n\rb 2/2\u001b[A\n\n\rc 2/2\u001b[A\u001b[A\ra 2/2\n\rb 2/2\n\rc 2/2\nend\n",
      "begin\nepoch 2/2\nmid     \na 2/2\nb 2/2\nc 2/2\nend\n",
    ],
    [
      "rich",
      "\u001b[?25l\r\u001b[2Kepoch 0/2\r\u001b[2Kepoch 0/2\nstep 0/2 \r\u001b[2K\u001b[1A\u001b[2Kepoch 0/2\nstep 1/2 \r\u001b[2K\u001b[1A\u001b[2Kepoch 0/2\nstep 2/2 \r\u001b[2K\u001b[1A\u001b[2Kepoch 1/2\nstep 2/2 \r\u001b[2K\u001b[1A\u001b[2Ksaved 0\nepoch 1/2\nstep 2/2 \r\u001b[2K\u001b[1A\u001b[2Kepoch 1/2\nstep 1/2 \r\u001b[2K\u001b[1A\u001b[2Kepoch 1/2\nstep 2/2 \r\u001b[2K\u001b[1A\u001b[2Kepoch 2/2\nstep 2/2 \r\u001b[2K\u001b[1A\u001b[2Ksaved 1\nepoch 2/2\nstep 2/2 \r\u001b[2K\u001b[1A\u001b[2Kepoch 2/2\nstep 2/2 \n\u001b[?25hend\n",
      "saved 0\nsaved 1\nepoch 2/2\nstep 2/2 \nend\n",
    ],
  ])("shows nested progress bars in place: %s", (_, written, expected) => {
    expect(text(written)).toBe(expected);
    expect(text(...written)).toBe(expected);
  });

  it.each([
    ["up, to the same column", "abc\ndef\u001b[AX\u001b[2DY", "abYX\ndef"],
    ["down, to rows that are not there yet", "a\u001b[2Bb", "a\n\n b"],
    ["past the first line, which it keeps to", "a\nb\u001b[99A\rX", "X\nb"],
  ])("moves %s", (_, written, expected) => {
    expect(text(written)).toBe(expected);
  });

  it("erases the rows behind the cursor, too", () => {
    expect(text("a\nb\nc\u001b[2A\u001b[Jd")).toBe("ad");
  });

  it("moves within the last 50 lines, in whichever parts they come", () => {
    const lines = Array.from({ length: 120 }, (_, n) => `${n}\n`);
    const written = [...lines, "\u001b[99A\rX"];
    const expected = lines.join("").replace("71\n", "X1\n");
    expect(text(...written)).toBe(expected);
    expect(text(written.join(""))).toBe(expected);
  });

  it("shows the same however the text is split", () => {
    const whole =
      "\u001b[1;31mred\u001b[0m plain\r\n10 %\r\u001b[38;5;208m20\u001b[m %\u001b[K\n" +
      "\u001b]0;a title\u001b\\after\u001b[2Jend\u001b]0;b\u0007\u001b[4munder";
    const expected = shown(whole);
    for (let cut = 1; cut < whole.length; cut++) {
      expect(shown(whole.slice(0, cut), whole.slice(cut))).toEqual(expected);
    }
    expect(shown(...whole)).toEqual(expected);
  });

  it.each([
    ["31", "red"],
    ["91", "red"],
    ["41", "background red"],
    ["1;4;9;3", "bold italic underline"],
    ["2", "black"],
    ["37;41", "background red"],
    ["38;2;120;30;200;1", "bold"],
    ["38;5;9;31", "red"],
  ])("gives text after %s the classes %s", (parameters, style) => {
    expect(shown(`\u001b[${parameters}mx`)).toEqual([["x", style]]);
  });

  it.each([
    "0",
    "",
    "1;0",
    "31;39",
    "41;49",
    "1;2;22",
    "3;4;7;9;23;24;27;29",
    "38;5",
    "48;5;27",
    "38:2::0:200:210",
  ])("gives text after %s no classes", (parameters) => {
    expect(shown(`\u001b[${parameters}mx`)).toEqual(["x"]);
  });

  it("applies the same sequence to different styles", () => {
    expect(shown("\u001b[31m\u001b[1ma\u001b[0m\u001b[1mb\u001b[0m\u001b[31m\u001b[1mc")).toEqual([
      ["a", "red bold"],
      ["b", "bold"],
      ["c", "red bold"],
    ]);
  });

  it("keeps a style across lines until it is reset", () => {
    expect(shown("a\u001b[32mb\nc\n\u001b[0md")).toEqual(["a", ["b\nc\n", "green"], "d"]);
  });

  it("overwrites in the current style and leaves the rest in its own", () => {
    expect(shown("\u001b[31mabcd\r\u001b[32mXY")).toEqual([
      ["XY", "green"],
      ["cd", "red"],
    ]);
  });
});
