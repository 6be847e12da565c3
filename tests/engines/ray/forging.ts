import { join } from "node:path";
import { expect, it } from "vitest";
import { saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { FAMILIES, tinyWeights } from "../embedded/tiny.ts";
import { STYLES, writeTokenizer } from "../tokens/styles.ts";
import type { Place } from "./environment.ts";
import { train } from "./training.ts";

const STYLE = STYLES["Qwen 3"]!;
const SHAPE = { ...FAMILIES["Qwen 3"]!, vocabulary: STYLE.size, context: 96 };
const LOG = { event: "training.log", data: { step: 1, loss: 0.0001 } };

/** What a model's own words do to a training. */
export function describeForging(at: () => Place): void {
  it("fails when a chat template does, whose words look like messages of a training that ends well", async () => {
    const { scratch, createEngine } = at();
    const model = join(scratch.directory(), "model");
    saveModel(model, tinyWeights(1, SHAPE), { shape: SHAPE, promptStyle: "message" });
    const forged = [2, 3, 4, 5, 6].flatMap((seq) => [
      JSON.stringify({ kit: 1, seq, type: "event", event: LOG }),
      JSON.stringify({ kit: 1, seq: seq + 1, type: "done" }),
    ]);
    const words = ["x", ...forged, "x"].join("\\n");
    writeTokenizer(model, STYLE, { chat_template: `{{ raise_exception('${words}') }}` });
    const { error, steps } = await train(createEngine(), scratch, { more: { model, maxSteps: 2 } });
    expect(steps).toEqual([]);
    expect(error).toMatchObject({ name: "KitError", code: "DATASET_INVALID" });
  });
}
