import { join } from "node:path";
import { loadModel } from "kit";
import { expect, it } from "vitest";
import { saveModel } from "../../engines/checkpoint/checkpoint.ts";
import { dimensionsOf } from "../../engines/families/dimensions.ts";
import { randomWeights } from "../../engines/families/randomWeights.ts";
import { scratchDirectory } from "../engines/embedded/scratch.ts";
import { saveToolModel } from "../toolModel.ts";

it("answers go on while another model loads, as when kit serve turns to a newer job", async () => {
  const folder = scratchDirectory();
  const [talker, other] = [join(folder, "talker"), join(folder, "other")];
  saveToolModel(talker, { context: 8_192 });
  const shape = dimensionsOf({ layers: 2, heads: 4, width: 512, context: 64 });
  saveModel(other, randomWeights(shape, 1), { shape, promptStyle: "message" });
  const model = await loadModel(talker);
  let loading: Promise<void> | undefined;
  let [isLoaded, pieces] = [false, 0];
  const stream = model.stream({ prompt: "go on", maxTokens: 8_000 })[Symbol.asyncIterator]();
  while (!isLoaded && !(await stream.next()).done) {
    pieces++;
    loading ??= loadModel(other).then(async (loaded) => {
      isLoaded = true;
      await loaded.close();
    });
  }
  await stream.return?.(undefined);
  await loading;
  expect(isLoaded).toBe(true);
  expect(pieces).toBeGreaterThan(20);
  await model.close();
});
