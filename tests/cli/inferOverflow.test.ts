import { join } from "node:path";
import { expect, test } from "vitest";
import { saveModel } from "../../engines/checkpoint/checkpoint.ts";
import { dimensionsOf } from "../../engines/families/dimensions.ts";
import { randomWeights } from "../../engines/families/randomWeights.ts";
import { runKit, startKit } from "../kit.ts";
import { createProject } from "../project.ts";

const SHAPE = dimensionsOf({ layers: 1, heads: 1, width: 16, context: 64 });

test("an answer whose numbers overflow is an error, not NUL characters", async () => {
  const home = createProject();
  const weights = randomWeights(SHAPE, 1);
  for (const { data } of Object.values(weights))
    data.forEach((weight, n) => (data[n] = weight * 1e30));
  saveModel(join(home, "model"), weights, { shape: SHAPE, promptStyle: "message" });
  for (const how of [[], ["--temperature", "1"]]) {
    expect(await runKit(home, ["infer", "./model", "hello", "--max-tokens", "4", ...how])).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "kit: The model's logits are not finite: its weights are too large. Use an earlier checkpoint, or train again with a lower learningRate.\n",
    });
  }
});

test("an answer without memory is an error that advises what helps answers", async () => {
  const home = createProject();
  const weights = randomWeights(SHAPE, 1);
  saveModel(join(home, "model"), weights, { shape: SHAPE, promptStyle: "message" });
  // Enough for Node; WebAssembly reserves more.
  const within = ["prlimit", `--as=${8 * 2 ** 30}`];
  expect(await startKit(home, ["infer", "./model", "hello"], {}, within).ended).toEqual({
    code: 1,
    stdout: "",
    stderr:
      'kit: The engine ran out of memory. Use a smaller model, quantize: "q8_0" or shorter prompts, or raise a limit of the process (ulimit -v).\n',
  });
});
