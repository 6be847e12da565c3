import { expect, test } from "vitest";
import { figuresUpTo } from "../../../cli/push/figures.ts";
import { type CardFacts, modelCard } from "../../../cli/push/modelCard.ts";

const DATASET = { type: "hub", name: "org/rows", revision: "main", path: [] };
const LICENCE = { license: "other", licenseName: "llama3", licenseLink: "LICENSE", isGated: true };
const MODEL = {
  ...{ kind: "model", file: undefined, base: { repo: "org/base", ...LICENCE } },
  ...{ hasChatTemplate: true, isDatasetPublic: true },
};
const at = (step: number, values: Record<string, number>) => ({
  event: "training.evaluated",
  data: { step, metrics: values },
});
const log = (step: number, loss: number, evalLoss?: number) => ({
  event: "training.log",
  data: { step, loss, evalLoss, metrics: {} },
});

/** The card of step 3, whose job goes on to step 4. */
function cardOf({
  config = {},
  job = {},
  model = {},
  repo = "ada/tiny",
  system = "",
} = {}): string {
  const curve = [log(1, 4), log(2, 3, 2), log(3, 1), at(3, { loss: 1e-7 }), log(4, 0.5)];
  return modelCard({
    ...{ repo, step: 3, figures: figuresUpTo(curve as never, 3) },
    job: { name: "tiny", data: { rows: 1, evalRows: 1 }, ...job },
    config: { engine: { name: "embedded" }, model: "org/base", dataset: DATASET, ...config },
    model: { ...MODEL, ...model },
    system,
  } as unknown as CardFacts);
}

test.each([
  ["figures of its own step only, as YAML 1.1", {}, '"metrics":[{"type":"loss","value":1.0e-7}]'],
  ["a loss of evaluate beside training's", {}, "| training loss | 4 (step 1) | 1 |"],
  ["nothing of a later step", {}, "| evalLoss | – | 2 (step 2) |"],
  ["the base's own licence", {}, 'license: "other"\nlicense_name: "llama3"\nlicense_link: "LIC'],
  ["a name that is no markup", { job: { name: "a <b>|[x](y)" } }, "# a \\<b\\>\\|\\[x\\](y)\n"],
  [
    "no name of a private dataset",
    { model: { isDatasetPublic: false } },
    "| training | 1 | – | a dataset of the hub |",
  ],
  [
    "no name of another held-out dataset",
    { config: { evalDataset: { ...DATASET, name: "org/held-out" } } },
    "| held out | 1 | – | a dataset of the hub |",
  ],
  [
    "no name of a local file",
    { config: { dataset: { type: "jsonl", path: ["/home/ada/tulip.jsonl", "b.jsonl"] } } },
    "| training | 1 | – | local files |",
  ],
  ["how to run it", {}, 'npx kit infer ada/tiny "…"'],
  [
    "the system message of all rows for a shell, in a longer fence than its own",
    { model: { kind: "gguf", file: "a.gguf" }, system: "It's\n```" },
    "````sh\nllama-cli --hf-repo ada/tiny --hf-file a.gguf --jinja --temp 0 -sys 'It'\\''s\n```'\n",
  ],
  [
    "the system message of all rows for kit infer",
    { system: "It's" },
    'kit infer ada/tiny --jsonl <<\'END\'\n{"messages": [{"role": "system", "content": "It\'s"}, {',
  ],
  ["a download for a name like a file's", { repo: "ada/step-3" }, "hf download ada/step-3 --local"],
])("a card has %s", (_, facts, text) => {
  const card = cardOf(facts);
  expect(card).toContain(text);
  expect(card).not.toMatch(/tulip|org\/held-out/);
});
