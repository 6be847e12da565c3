import { expect, test } from "vitest";
import { difference } from "../embedded/kernels/team.ts";
import { learnerOf, logitsOf } from "../embedded/learner.ts";
import { FAMILIES, tinyTokens, tinyWeights } from "../embedded/tiny.ts";
import { type Parameter, runPlainly, softmax } from "./plainLayers.ts";

const LENGTH = 9;

test.each(Object.entries(FAMILIES))(
  "the operations of %s on plain arrays have the kernels' logits and gradients",
  (_, shape) => {
    const weights = tinyWeights(1, shape);
    const parameters = Object.fromEntries(
      Object.entries(weights).map(([name, { data }]) => {
        const grad = new Float64Array(data.length);
        return [name, { data, grad } satisfies Parameter];
      }),
    );
    const tokens = [...tinyTokens(LENGTH + 1)];
    const read = tokens.slice(0, -1);
    const all = read.map((_, i) => i);
    const options = { parameter: (name: string) => parameters[name], scale: 0 };
    const { logits, backward } = runPlainly(shape, read, all, options);
    expect(difference(logits.flat(), logitsOf(weights, read, shape).flat())).toBeLessThan(2e-5);

    const learned = Uint8Array.from(tokens, (_, i) => Number(i > 0));
    const learner = learnerOf(weights, { rows: 1, length: LENGTH, shape });
    const { gradients } = learner.gradients([{ tokens: Uint16Array.from(tokens), learned }]);
    const isNext = (i: number, id: number) => Number(id === tokens[i + 1]);
    backward(logits.map((row, i) => softmax(row).map((p, id) => (p - isNext(i, id)) / LENGTH)));
    for (const [name, { data }] of Object.entries(gradients))
      expect(difference(parameters[name]!.grad, data), name).toBeLessThan(1e-5);
  },
);
