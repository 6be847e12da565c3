import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { cachedModels } from "../../../engines/embedded/cachedModels.ts";
import { scratchDirectory } from "./scratch.ts";
import { TINY, tinyWeights } from "./tiny.ts";

const COMMIT = "c".repeat(40);
const INCOMPLETE = "The download is incomplete. Name the model in a trainer to fetch the rest.";

/** A cache for this process. */
function cacheFolder(): string {
  const cache = scratchDirectory();
  vi.stubEnv("HF_HUB_CACHE", cache);
  onTestFinished(() => void vi.unstubAllEnvs());
  return cache;
}

/** A model's folder in a cache, whole, with a commit in its `snapshots` and `main` in its `refs`. */
function cachedModel(cache: string, name: string): { folder: string; snapshot: string } {
  const folder = join(cache, `models--org--${name}`);
  const snapshot = join(folder, "snapshots", COMMIT);
  saveModel(snapshot, tinyWeights(), { shape: TINY, promptStyle: "message" });
  mkdirSync(join(folder, "refs"));
  writeFileSync(join(folder, "refs/main"), COMMIT);
  return { folder, snapshot };
}

test("what is broken in the cache hides no model", () => {
  const cache = cacheFolder();
  const { folder, snapshot } = cachedModel(cache, "tiny");
  const refs = join(folder, "refs");
  symlinkSync("nowhere", join(refs, "dangling"));
  symlinkSync("loop", join(refs, "loop"));
  symlinkSync(".", join(refs, "folder"));
  writeFileSync(join(refs, "odd"), "x".repeat(100));
  execFileSync("mkfifo", [join(refs, "pipe")]);
  symlinkSync("loop", join(snapshot, "loop"));
  symlinkSync(".", join(snapshot, "here"));
  writeFileSync(join(cache, "models--org--file"), "");
  const odd = join(cache, "models--org--pipe/snapshots", COMMIT);
  mkdirSync(odd, { recursive: true });
  writeFileSync(join(odd, "config.json"), readFileSync(join(snapshot, "config.json")));
  execFileSync("mkfifo", [join(odd, "model.safetensors.index.json")]);
  expect(cachedModels().models).toMatchObject([
    { name: `org/pipe@${COMMIT}`, problem: INCOMPLETE },
    { name: "org/tiny", problem: undefined },
  ]);
});

test("an incomplete model that could not be trained anyway is refused for that", () => {
  const { snapshot } = cachedModel(scratchDirectory(), "tiny");
  const config = JSON.parse(readFileSync(join(snapshot, "config.json"), "utf8")) as object;
  const cache = cacheFolder();
  const changes = { cut: {}, quantized: { quantization_config: { quant_method: "gptq" } } };
  for (const [name, change] of Object.entries(changes)) {
    const directory = join(cache, `models--org--${name}/snapshots`, COMMIT);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, "config.json"), JSON.stringify({ ...config, ...change }));
  }
  expect(cachedModels().models.map(({ problem }) => problem)).toEqual([
    INCOMPLETE,
    expect.stringMatching(/is quantized \(gptq\)\. Use the model's weights in bfloat16/),
  ]);
});
