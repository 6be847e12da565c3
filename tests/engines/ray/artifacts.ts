import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Place } from "./environment.ts";
import { SHAPE, train } from "./training.ts";

const LORA = { r: 2, alpha: 4 };
/** Whose float32 weights take 50 MB. */
const LARGE = { ...SHAPE, width: 1024 };

/** Checkpoints of a cluster whose storage this machine does not see. */
export function describeArtifacts(at: () => Place): void {
  it("fetches adapters through the dashboard, and answers from them", async () => {
    const { scratch, storage, createEngine } = at();
    const engine = createEngine({ storage: `file://${storage}` });
    const more = { lora: LORA, maxSteps: 1 };
    const { error, directory, saved } = await train(engine, scratch, { more });
    expect(error).toBeUndefined();
    expect(saved).toEqual([1]);
    const adapter = join(directory, "artifacts/step-1");
    expect(readdirSync(adapter)).toContain("adapter_model.safetensors");
    const model = await engine.load(adapter);
    expect(await model.infer({ prompt: "1", maxTokens: 2 })).toMatchObject({ tokens: 2 });
    await model.close();
  });

  it("fetches a model of 50 MB through the dashboard, byte for byte", async () => {
    const { scratch, storage, createEngine } = at();
    const engine = createEngine({ storage: `file://${storage}` });
    const more = { model: LARGE, maxSteps: 1 };
    const { error, id, directory } = await train(engine, scratch, { more });
    expect(error).toBeUndefined();
    const [here, there] = [join(directory, "artifacts"), join(storage, id)].map((folder) =>
      join(folder, "step-1"),
    );
    const names = readdirSync(there!).filter((name) => !name.startsWith("."));
    expect(readdirSync(here!).sort()).toEqual(names.sort());
    for (const name of names) expect(digestOf(here!, name)).toBe(digestOf(there!, name));
    expect(readFileSync(join(here!, "model.safetensors")).length).toBeGreaterThan(50e6);
  });
}

function digestOf(folder: string, name: string): string {
  return createHash("sha256")
    .update(readFileSync(join(folder, name)))
    .digest("hex");
}
