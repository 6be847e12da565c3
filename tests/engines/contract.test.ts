import { existsSync, readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { describeEngine } from "./contract.ts";
import { createEmbeddedEngine } from "./embedded/built.ts";
import { createSeparateEngine } from "./separate/engine.ts";

describeEngine("embedded", createEmbeddedEngine);
describeEngine("separate", createSeparateEngine);

test("each engine runs the contract", () => {
  const [engines, tests] = ["../../engines/", "./"].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  const names = readdirSync(engines!).filter((name) => existsSync(`${engines}${name}/index.ts`));
  const sources = readdirSync(tests!, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => readFileSync(`${tests}${file}`, "utf8"));
  expect(names).toContain("embedded");
  const forgotten = names.filter(
    (name) =>
      !sources.some(
        (source) =>
          source.includes(`describeEngine("${name}"`) ||
          source.includes(`describeAnswers("${name}"`),
      ),
  );
  expect(forgotten).toEqual([]);
});
