import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { dimensionsOf } from "../../../engines/families/dimensions.ts";
import { randomWeights } from "../../../engines/families/randomWeights.ts";
import type { EngineEvent } from "../../../protocol/event.ts";
import type { TrainingOptions } from "../../../protocol/trainConfig.ts";
import { jsonl } from "../embedded/scratch.ts";
import {
  type WarmPython,
  ENV,
  PYTHON,
  createPythonEngine,
  hasPython,
  startWarmPython,
} from "./environment.ts";

const SHAPE = { layers: 1, heads: 1, width: 8, context: 32 };
const LORA = { r: 2, alpha: 4, targetModules: ["q_proj"] };
const CODE = [
  "configuration_own.py",
  "modeling_own.py",
  "tokenization_own.py",
  "custom_generate/generate.py",
];
const NEEDS_CODE = {
  name: "KitError",
  code: "MODEL_INVALID",
  message: expect.stringMatching(
    /^\S+ needs custom code \(auto_map in its config\.json\), which Kit never runs\. Use a model that transformers has built in\.$/,
  ),
};

const refusedPickle = (folder: string) => ({
  name: "KitError",
  code: "CHECKPOINT_INVALID",
  message: `${folder} has a pickle that is damaged or holds code, which Kit never runs. Use another checkpoint.`,
});

describe.runIf(hasPython)("with Python", () => {
  const home = mkdtempSync(join(tmpdir(), "kit-hostile-"));
  /** Written by whatever code runs. */
  const marker = join(home, "marker");
  const model = join(home, "model");
  /** With its optimizer. */
  let checkpoint: string;
  let warm: WarmPython;
  let count = 0;

  const engine = () =>
    createPythonEngine({ path: warm.path, env: { ...ENV, HF_HOME: join(home, "cache") } });

  beforeAll(async () => {
    warm = await startWarmPython();
    const shape = dimensionsOf(SHAPE);
    saveModel(model, randomWeights(shape, 1), { shape, promptStyle: "message" });
    ({ saved: checkpoint } = await train({ model, maxSteps: 1 }));
  });
  afterAll(async () => {
    await warm.close();
    rmSync(home, { recursive: true, force: true });
  });
  afterEach(() => expect(existsSync(marker)).toBe(false));

  function configOf(asked: Pick<TrainingOptions, "model"> & Partial<TrainingOptions>) {
    const path = join(home, "rows.jsonl");
    writeFileSync(path, jsonl([{ prompt: "1", completion: "2" }]));
    const common = { batchSize: 1, loggingSteps: 1, maxSteps: 2 };
    return engine().prepare({ dataset: { type: "jsonl", path }, ...common, ...asked });
  }

  async function train(asked: Parameters<typeof configOf>[0], resumeFrom?: string) {
    const directory = join(home, `job-${count++}`);
    const losses: unknown[] = [];
    const onEvent = ({ event, data }: EngineEvent) => {
      if (event === "training.log") losses.push(data.loss);
    };
    const { signal } = new AbortController();
    const config = configOf(asked);
    await engine().train({
      ...{ config, directory, signal, onEvent },
      ...(resumeFrom !== undefined && { resumeFrom }),
    });
    return { losses, saved: join(directory, "artifacts", `step-${config.maxSteps}`) };
  }

  /** A copy of a folder to be spoilt. */
  function copyOf(folder: string): string {
    const copy = join(home, `copy-${count++}`);
    cpSync(folder, copy, { recursive: true });
    return copy;
  }

  function edit(folder: string, name: string, changes: object): void {
    const path = join(folder, name);
    const content = JSON.parse(readFileSync(path, "utf8")) as object;
    writeFileSync(path, JSON.stringify({ ...content, ...changes }));
  }

  const leavesMarker = `open(${JSON.stringify(marker)}, "a").close()`;

  /** Adds code that would work if it ran, and writes the marker. */
  function withCode(folder: string, changes: object): string {
    const copy = copyOf(folder);
    const classes = `from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
class Config(LlamaConfig):
    model_type = "own"
class Model(LlamaForCausalLM):
    config_class = Config
class Tokenizer(PreTrainedTokenizerFast):
    pass
def generate(model, *args, **kwargs):
    return None
`;
    for (const name of CODE) {
      mkdirSync(dirname(join(copy, name)), { recursive: true });
      writeFileSync(join(copy, name), `${leavesMarker}\n${classes}`);
    }
    const auto_map = {
      AutoConfig: "configuration_own.Config",
      AutoModel: "modeling_own.Model",
      AutoModelForCausalLM: "modeling_own.Model",
      AutoTokenizer: ["tokenization_own.Tokenizer", "tokenization_own.Tokenizer"],
    };
    edit(copy, "config.json", { auto_map, ...changes });
    edit(copy, "tokenizer_config.json", { auto_map, tokenizer_class: "Tokenizer" });
    return copy;
  }

  /** A pickle that writes the marker when it is read. */
  function writePickle(path: string): void {
    writeFileSync(path, `cbuiltins\nexec\n(S'${leavesMarker}'\ntR.`);
  }

  it("the pickle of these tests writes the marker when plain pickle reads it", () => {
    const path = join(home, "pickle");
    writePickle(path);
    execFileSync(PYTHON, ["-c", `import pickle; pickle.load(open(${JSON.stringify(path)}, "rb"))`]);
    expect(existsSync(marker)).toBe(true);
    rmSync(marker);
  });

  it.each<[string, (hostile: string) => Promise<unknown>]>([
    ["checked", (hostile) => engine().check({ config: configOf({ model: hostile }) })],
    ["trained", (hostile) => train({ model: hostile })],
    ["trained by an adapter", (hostile) => train({ model: hostile, lora: LORA })],
    ["resumed", (hostile) => train({ model: hostile }, checkpoint)],
    ["asked", (hostile) => ask(hostile)],
    ["asked through an adapter", async (hostile) => ask(await adapterOf(hostile))],
  ])("a model that needs its own code is refused in a sentence: %s", async (_, use) => {
    const failed = use(withCode(model, { model_type: "own" }));
    await expect(failed).rejects.toMatchObject(NEEDS_CODE);
  });

  it("a model that transformers has built in is used without the code beside it", async () => {
    const hostile = withCode(model, {});
    for (const lora of [undefined, LORA]) {
      const asked = { ...(lora && { lora }) };
      const { losses, saved } = await train({ ...asked, model: hostile });
      expect(losses).toEqual((await train({ ...asked, model })).losses);
      expect(await ask(saved)).toMatchObject({ text: expect.any(String) as unknown });
    }
    const resumed = await train({ model: hostile }, withCode(checkpoint, {}));
    expect(resumed.losses).toEqual((await train({ model }, checkpoint)).losses);
    expect(await ask(hostile)).toEqual(await ask(model));
  });

  it.each([
    ["rng_state.pth", true],
    ["optimizer.pt", true],
    ["scheduler.pt", true],
    // Kit's checkpoints have none of these.
    ["training_args.bin", false],
    ["pytorch_model.bin", false],
  ])("a checkpoint's %s runs no code when it is resumed from", async (name, isRead) => {
    const hostile = copyOf(checkpoint);
    writePickle(join(hostile, name));
    const resumed = train({ model }, hostile);
    if (isRead) {
      await expect(resumed).rejects.toMatchObject({
        ...refusedPickle(hostile),
        code: "RESUME_INVALID",
      });
    } else {
      expect((await resumed).losses).toHaveLength(1);
    }
  });

  it("pickled weights run no code", async () => {
    const hostile = copyOf(model);
    rmSync(join(hostile, "model.safetensors"));
    writePickle(join(hostile, "pytorch_model.bin"));
    const adapter = await adapterOf(model);
    rmSync(join(adapter, "adapter_model.safetensors"));
    writePickle(join(adapter, "adapter_model.bin"));
    for (const folder of [hostile, adapter]) {
      const refused = refusedPickle(folder);
      await expect(train({ model: folder })).rejects.toMatchObject(refused);
      await expect(ask(folder)).rejects.toMatchObject(refused);
    }
  });

  /** An adapter that was trained on the clean model, and names another as its base. */
  async function adapterOf(base: string): Promise<string> {
    const adapter = copyOf((await train({ model, lora: LORA, maxSteps: 1 })).saved);
    edit(adapter, "adapter_config.json", { base_model_name_or_path: base });
    return adapter;
  }

  async function ask(folder: string) {
    const loaded = await engine().load(folder);
    try {
      return await loaded.infer({ prompt: "1", maxTokens: 2 });
    } finally {
      await loaded.close();
    }
  }
});
