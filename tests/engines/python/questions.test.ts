import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { PAIR_FORMAT } from "../../../engines/dataset/pair.ts";
import { PYTHON, hasPython } from "./environment.ts";

const PROGRAM = fileURLToPath(new URL("questions.py", import.meta.url));

const said = (role: string) => (content: string) => ({ role, content });
const [system, user, assistant] = ["system", "user", "assistant"].map(said) as [
  ReturnType<typeof said>,
  ReturnType<typeof said>,
  ReturnType<typeof said>,
];

/** Pairs of whole conversations, whose prompt is a text that they have, too, or none. */
const turns = [user("Hi"), assistant("Hello"), user("2 + 2?")];
const ROWS = [
  { chosen: [user("Hi"), assistant("Hello")], rejected: [user("Hi"), assistant("no")] },
  { chosen: [...turns, assistant("4")], rejected: [...turns, assistant("5")] },
  {
    chosen: [system("Be kind."), user("Hi"), assistant("Hello")],
    rejected: [system("Be kind."), user("Hi"), assistant("no")],
  },
  // The answers part before they end.
  {
    chosen: [user("Hi"), assistant("Hello"), user("2 + 2?"), assistant("4")],
    rejected: [user("Hi"), assistant("no"), user("Really?"), assistant("no")],
  },
].flatMap((answers) => [answers, { prompt: "Hi", ...answers }, { prompt: "2 + 2?", ...answers }]);

it.runIf(hasPython)(
  "a question that a pair's answers repeat is taken once, as TRL takes it",
  () => {
    const input = JSON.stringify(ROWS);
    const output = execFileSync(PYTHON, ["-B", PROGRAM], { encoding: "utf8", input });
    const trl = JSON.parse(output) as object[];
    const read = ROWS.map((row) => PAIR_FORMAT.parse(row, "a row"));
    // A question's earlier answers are not learned, which TRL does not say in the row.
    const withoutWeights = (pairs: object[]) =>
      JSON.parse(JSON.stringify(pairs), (key, value: unknown) =>
        key === "weight" ? undefined : value,
      ) as object[];
    expect(withoutWeights(read)).toEqual(trl);
  },
);
