import { copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { saveModel } from "../../engines/checkpoint/checkpoint.ts";
import { dimensionsOf } from "../../engines/families/dimensions.ts";
import { randomWeights } from "../../engines/families/randomWeights.ts";
import { fetchModel } from "../../engines/hub/fetchModel.ts";
import { hubSettings } from "../../engines/hub/hubSettings.ts";
import { startHub } from "../hub/server.ts";
import { createTinyProject, runKit, tinySource } from "../kit.ts";
import { createProject } from "../project.ts";

const SIZES = { layers: 1, heads: 1, width: 16, context: 64 };
const SHAPE = dimensionsOf(SIZES);

test("kit models lists what is in the cache, and why a model can't be trained", async () => {
  const home = createProject();
  const files = join(home, "model");
  saveModel(files, randomWeights(SHAPE, 1), { shape: SHAPE, promptStyle: "message" });
  const other = {
    "config.json": `{"architectures":["Other\\u001bLM"]}`,
    "model.safetensors": "?",
    "tokenizer.json": "{}",
  };
  const hub = await startHub({ "org/tiny": { files }, "org/other": { files: other } });
  onTestFinished(hub.close);
  const settings = hubSettings({ HF_HOME: home, HF_ENDPOINT: hub.endpoint });
  const { commit } = await fetchModel(
    { repoType: "model", repo: "org/tiny", revision: "main" },
    { settings },
  );
  hub.commit("org/tiny", { ...other, "model.safetensors": "new" });
  await fetchModel({ repoType: "model", repo: "org/tiny", revision: "main" }, { settings });
  await fetchModel({ repoType: "model", repo: "org/other", revision: "main" }, { settings });
  // As AutoConfig of Python leaves it.
  const cut = join(home, "hub/models--org--part/snapshots", commit);
  mkdirSync(cut, { recursive: true });
  copyFileSync(join(files, "config.json"), join(cut, "config.json"));

  const { code, stdout, stderr } = await runKit(home, ["models"], { HF_HOME: home });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const lines = stdout.trimEnd().split("\n");
  const sizes = / +[\d.]+ MB +/;
  expect(
    lines.filter((line) => !line.startsWith(" ")).map((line) => line.replace(sizes, "|")),
  ).toEqual([
    "refused    -|Other\\u001bLM     org/other",
    `refused    -|LlamaForCausalLM  org/part@${commit}`,
    "refused    -|Other\\u001bLM     org/tiny",
    `trainable  7.6K|LlamaForCausalLM  org/tiny@${commit}`,
  ]);
  expect(lines[3]).toMatch(/^ {2}.*incomplete/);
  expect(lines.filter((line) => line.startsWith("  "))).toHaveLength(3);
});

test("kit models says on stderr that there are none", async () => {
  const home = createProject();
  expect(await runKit(home, ["models"], { HF_HOME: home })).toEqual({
    code: 0,
    stdout: "",
    stderr: `no models in ${join(home, "hub")} yet; a trainer with model: "org/name" downloads one\n`,
  });
});

test("kit check reads weights without holding them", async () => {
  const mebibytes = async (width: number) => {
    const project = createTinyProject(tinySource({ options: 'model: "./model",' }));
    const shape = dimensionsOf({ ...SIZES, layers: 2, width });
    saveModel(join(project, "model"), randomWeights(shape, 1), { shape, promptStyle: "message" });
    // Steps that are timed need a training's memory.
    const told = `process.availableMemory = () => 0; process.on("exit", () => console.error(process.resourceUsage().maxRSS / 1024))`;
    const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(told)}`;
    const { code, stderr } = await runKit(project, ["check"], { NODE_OPTIONS });
    expect(code, stderr).toBe(0);
    expect(stderr).toContain("could not estimate the training time: too little free memory");
    return Number(stderr.trim().split("\n").at(-1));
  };
  expect((await mebibytes(1440)) - (await mebibytes(16))).toBeLessThan(32);
});

test.each(["cache/", "./cache", "cache//hub/../hub/", "."])(
  "a model of the hub is downloaded into the folder that HF_HUB_CACHE=%s names",
  async (cache) => {
    const project = createTinyProject(tinySource({ options: 'model: "org/tiny",' }));
    const files = join(project, "model");
    saveModel(files, randomWeights(SHAPE, 1), { shape: SHAPE, promptStyle: "message" });
    const hub = await startHub({ "org/tiny": { files } });
    onTestFinished(hub.close);
    const env = { HF_ENDPOINT: hub.endpoint, HF_HOME: project, HF_HUB_CACHE: cache };
    const { code, stderr } = await runKit(project, ["check"], env);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/^downloading org\/tiny/) as string,
    });
    expect(readdirSync(join(project, cache))).toContain("models--org--tiny");
  },
);
