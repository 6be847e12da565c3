import { join } from "node:path";
import { loadModel } from "kit";
import { webgpu } from "kit/engines";
import { expect, it } from "vitest";
import { saveModel } from "../../engines/checkpoint/checkpoint.ts";
import { dimensionsOf } from "../../engines/families/dimensions.ts";
import { randomWeights } from "../../engines/families/randomWeights.ts";
import { engineOf } from "../../sdk/models/open.ts";
import { scratchDirectory } from "../engines/embedded/scratch.ts";
import { createProject } from "../project.ts";
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

it("the embedded engine answers what webgpu() trained, as a note says once where webgpu() is passed", async () => {
  const folder = join(scratchDirectory(), "model");
  saveToolModel(folder);
  const [engine, notes]: [ReturnType<typeof webgpu>, string[]] = [webgpu(), []];
  for (const onNote of [undefined, (text: string) => void notes.push(text), undefined]) {
    const model = await loadModel(folder, { engine, ...(onNote && { onNote }) });
    expect((await model.infer({ prompt: "go on", maxTokens: 1 })).tokens).toBe(1);
    await model.close();
  }
  expect(notes).toEqual([
    "webgpu() only trains; the embedded engine answers, on the CPU. On a GPU, llama() answers",
  ]);

  const job = { name: "x", createdAt: "2026-01-01T00:00:00Z", config: { engine } };
  const directory = createProject({ "job.json": JSON.stringify(job) });
  const reference = { kind: "saved", name: "x", directory, job: { directory } } as never;
  const of = (found: object) =>
    engineOf({ engine: () => Promise.resolve(found) } as never, reference);
  expect(await of(engine)).toBeUndefined();
  expect(await of({ ...engine, trainsOnly: undefined })).toBeDefined();
});
