import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import constants from "../../../engines/constants.json" with { type: "json" };
import type { PythonJob } from "../../../engines/python/messages.ts";
import { createCluster } from "../../../engines/ray/cluster.ts";
import { codeFiles, createPackage, pack } from "../../../engines/ray/pack.ts";
import type { RayOptions } from "../../../protocol/engineOptions.ts";
import { useWindowsDisk } from "../../windowsDisk.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { PYTHON, hasPython } from "../python/environment.ts";
import { FILES, recordedArtifact } from "./farArtifact.ts";

const FAR = { address: "far" };
const OTHER = { address: "other" };

it.each<[string, RayOptions, string[], string]>([
  ["stays on the cluster that keeps it", FAR, [], "s3://bucket/runs/1/step-4"],
  ["stays there when a file is missing here", FAR, ["config.json"], "s3://bucket/runs/1/step-4"],
  ["travels when all of it is here", FAR, Object.keys(FILES), "resume"],
  [
    "stays in a storage that another name of the cluster sees",
    { ...OTHER, storage: "s3://bucket/runs/" },
    [],
    "s3://bucket/runs/1/step-4",
  ],
  ["travels to another cluster", OTHER, ["config.json"], "resume"],
])("a checkpoint to resume from %s", (_, options, here, sent) => {
  const resumeFrom = recordedArtifact();
  mkdirSync(resumeFrom);
  for (const name of here) writeFileSync(join(resumeFrom, name), "");
  const base = scratchDirectory();
  const job = { config: {}, directory: dirname(base), files: [], model: { base }, resumeFrom };
  const files = pack({
    ...{ id: "1", mode: "train", cluster: createCluster(options) },
    job: job as unknown as PythonJob,
  });
  const found = files.find(({ path }) => path === "job.json");
  const packed = JSON.parse(String(found?.bytes)) as {
    job: PythonJob;
    names: Record<string, string>;
  };
  expect(packed.job.resumeFrom).toBe(sent);
  // Errors name the checkpoint as this machine knows it.
  expect(packed.names[sent]).toBe(resumeFrom);
  expect(files.some(({ path }) => path.startsWith("resume/"))).toBe(sent === "resume");
});

it("a file under the storage stays there, and one beside it travels", () => {
  const folder = scratchDirectory();
  const data = createPackage(createCluster({ ...FAR, storage: `${folder}/runs/` }));
  expect(data.file(`${folder}/runs/a.jsonl`, "data/0")).toBe(`${folder}/runs/a.jsonl`);
  expect(data.file(`${folder}/runs-b.jsonl`, "data/1")).toBe("data/1");
});

it("a model's chat template for tools travels from its own folder, and nothing else below it", () => {
  const folder = scratchDirectory();
  mkdirSync(join(folder, "additional_chat_templates"));
  mkdirSync(join(folder, "original"));
  const names = ["config.json", "additional_chat_templates/tool_use.jinja"];
  for (const name of [...names, "original/config.json"]) writeFileSync(join(folder, name), "");
  const data = createPackage(createCluster(FAR));
  data.folder(folder, "model");
  expect(data.files([]).map(({ path }) => path)).toEqual(
    names.map((name) => `model/${name}`).sort(),
  );
});

it("an archive made on Windows has forward slashes, too", () => {
  useWindowsDisk();
  expect(codeFiles().map(({ path }) => path)).toContain("kit_engine/train/objectives/dpo.py");
});

it.runIf(hasPython)("Python has the constants of TypeScript where a job is unpacked", () => {
  const folder = scratchDirectory();
  for (const { path, bytes } of codeFiles()) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
  }
  const program =
    "import json; from kit_engine.process.constants import CONSTANTS; print(json.dumps(CONSTANTS))";
  const printed = execFileSync(PYTHON, ["-c", program], { cwd: folder, encoding: "utf8" });
  expect(JSON.parse(printed)).toEqual(constants);
});

/** The paths that travel of a model's folder. */
function packed(base: string): string[] {
  const job = { config: {}, directory: dirname(base), files: [], model: { base } };
  const files = pack({
    ...{ id: "1", mode: "train", cluster: createCluster(FAR) },
    job: job as unknown as PythonJob,
  });
  return files.map(({ path }) => path).filter((path) => path.startsWith("model/"));
}

describe("of a model's folder", () => {
  const MODEL = ["config.json", "model.safetensors", "tokenizer.json"];

  function folderWith(...names: string[]): string {
    const folder = scratchDirectory();
    for (const name of names) writeFileSync(join(folder, name), "{}");
    return folder;
  }

  it("travel the files of a model alone", () => {
    const folder = folderWith(...MODEL, ".env", "id_rsa", "notes.txt", "training_args.bin");
    mkdirSync(join(folder, "node_modules"));
    expect(packed(folder)).toEqual(MODEL.map((name) => `model/${name}`));
  });

  it("travels no file that a link leads to outside", () => {
    const folder = folderWith("config.json", "model.safetensors");
    const secret = join(folderWith("id_rsa"), "id_rsa");
    symlinkSync(secret, join(folder, "tokenizer.json"));
    expect(() => packed(folder)).toThrow(
      `${join(folder, "tokenizer.json")} would be uploaded to the cluster, but it links to a file outside its folder. Remove the link, or copy the file itself there.`,
    );
  });

  it("travel the links of the hub's cache, whose files lie beside", () => {
    const repo = scratchDirectory();
    const snapshot = join(repo, "snapshots", "a".repeat(40));
    mkdirSync(snapshot, { recursive: true });
    mkdirSync(join(repo, "blobs"));
    for (const name of MODEL) {
      writeFileSync(join(repo, "blobs", name), "{}");
      symlinkSync(join("../../blobs", name), join(snapshot, name));
    }
    expect(packed(snapshot)).toEqual(MODEL.map((name) => `model/${name}`));
    // Beside the blobs, anything may lie in a folder that only has the name.
    writeFileSync(join(repo, "secret"), "");
    symlinkSync(join(repo, "secret"), join(snapshot, "vocab.txt"));
    expect(() => packed(snapshot)).toThrow("it links to a file outside its folder");
  });
});

it("leaves a dataset at a URL where it is", () => {
  const base = scratchDirectory();
  const [files, evalFiles] = [["s3://bucket/a.jsonl", join(base, "b.jsonl")], ["file:///data/c"]];
  writeFileSync(files[1]!, "{}");
  const job = { config: {}, directory: dirname(base), files, evalFiles, model: { base } };
  const packed = pack({
    ...{ id: "1", mode: "train", cluster: createCluster(FAR) },
    job: job as unknown as PythonJob,
  });
  const found = packed.find(({ path }) => path === "job.json");
  expect(JSON.parse(String(found?.bytes))).toMatchObject({
    job: { files: [files[0], "data/1"], evalFiles },
  });
  const data = packed.filter(({ path }) => /^(data|eval)\//.test(path));
  expect(data.map(({ path }) => path)).toEqual(["data/1"]);
});
