import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startChild } from "../../../engines/python/child.ts";
import { createLineSplitter } from "../../../engines/python/lines.ts";
import { scratchDirectory } from "../embedded/scratch.ts";

function linesOf(chunks: string[], most?: number): string[] {
  const split = createLineSplitter(most);
  return chunks.flatMap((chunk) => split(Buffer.from(chunk)));
}

it("finds lines wherever the chunks end", () => {
  const text = "one\n\ntwo é\nthree\nan end that is missing";
  for (let size = 1; size < text.length; size++) {
    const chunks = text.match(new RegExp(`.{1,${size}}`, "gs")) ?? [];
    expect(linesOf(chunks)).toEqual(["one", "", "two é", "three"]);
  }
});

it("drops lines that are too long, and takes the next ones", () => {
  expect(linesOf(["12345", "6789\n1234", "5\n", "123456\n12345\n"], 5)).toEqual(["12345", "12345"]);
});

it("goes on after a line of a program that has no end for long", async () => {
  const program = join(scratchDirectory(), "python");
  // Longer than a string of JavaScript can be.
  const endless = "head -c 600000000 /dev/zero | tr '\\0' x";
  writeFileSync(program, `#!/bin/sh\n${endless}\necho\necho '{"kit":1,"type":"done"}'\n`);
  chmodSync(program, 0o755);
  const { ended } = startChild("check", {
    interpreter: { path: program, from: "a test" },
    ...{ env: process.env, job: {}, onMessage: () => {} },
  });
  expect(await ended).toMatchObject({ type: "done" });
});
