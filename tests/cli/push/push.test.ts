import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { STARTED, createJob } from "../../jobs.ts";
import { createTinyProject, runKit, startKit } from "../../kit.ts";
import {
  type PushProject,
  ADAPTER,
  BASE,
  DATASET,
  SECRET,
  SYSTEM,
  TOKEN,
  createPushProject,
  download,
  filesOf,
} from "./project.ts";

const WRITES = /\/(commit|create|upload)\b/;

/** What the hub got since, for an upload. */
function writesSince({ hub }: PushProject, first: number): string[] {
  const sent = hub.requests.slice(first).filter(({ method }) => method !== "GET");
  return sent.flatMap(({ path }) => WRITES.exec(path)?.[1] ?? []);
}

async function answerOf({ project, env }: PushProject, model: string): Promise<string> {
  const words = ["infer", model, "5", "--max-tokens", "12"];
  const { code, stdout, stderr } = await runKit(project, words, env);
  expect({ code, stderr: stderr.replace(/^downloading .*\n/gm, "") }).toEqual({
    code: 0,
    stderr: "",
  });
  return stdout;
}

test("kit push uploads an adapter with a card in one commit, and nothing else of the project; it answers as before", async () => {
  const pushed = await createPushProject(ADAPTER, true);
  const { project, hub, push } = pushed;
  const [job = ""] = readdirSync(join(project, ".kit/jobs"));
  const saved = join(project, ".kit/jobs", job, "artifacts/step-4/tokenizer_config.json");
  const settings = JSON.parse(readFileSync(saved, "utf8")) as object;
  writeFileSync(saved, JSON.stringify({ ...settings, name_or_path: project }));
  const before = hub.requests.length;
  const first = await push("ada/tiny");
  expect(first).toMatchObject({ code: 0, stderr: "" });
  expect(first.stdout).toMatch(
    /^pushing \.kit\/jobs\/\S+\/step-4 to ada\/tiny\npushing ada\/tiny, [\d.]+ MB\npushed to \S+\/ada\/tiny \(private\): 5 files, [\d.]+ MB\n$/,
  );
  expect(writesSince(pushed, before).filter((path) => path !== "upload")).toEqual([
    "create",
    "commit",
  ]);
  const files = await filesOf(hub, "ada/tiny");
  expect([...files.keys()].toSorted()).toEqual([
    ".gitattributes",
    "README.md",
    "adapter_config.json",
    "adapter_model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
  ]);
  for (const [name, data] of files) {
    for (const secret of [SECRET, project, TOKEN, "127.0.0.1"]) {
      if (name !== "tokenizer.json") expect(data.includes(secret), name + secret).toBe(false);
    }
  }
  const card = String(files.get("README.md"));
  const [, matter = "", text = ""] = card.split("---\n");
  expect(matter.trim().split("\n").slice(0, 7)).toEqual([
    `base_model: "${BASE}"`,
    'base_model_relation: "adapter"',
    'library_name: "peft"',
    'license: "apache-2.0"',
    'pipeline_tag: "text-generation"',
    `datasets: ["${DATASET}"]`,
    'tags: ["kit","sft","lora"]',
  ]);
  expect(matter).toMatch(/"metrics":\[{"type":"exactMatch","value":0},{"type":"evalLoss",/);
  expect(text).toMatch(/^# tiny\n\nA LoRA adapter, trained with Kit \S+ from \[org\/base\]/m);
  expect(text).toMatch(/^\| evalLoss \| [\d.]+ \(step 2\) \| [\d.]+ \|$/m);
  expect(text).toMatch(/^\| exactMatch \| 0 \| 0 \|$/m);
  expect(text).toMatch(
    /^\| training \| 9 \| [0-9a-f]{16} \| \[org\/rows\]\(\S+\/datasets\/org\/rows\) \|$/m,
  );
  expect(text).toMatch(/^\| lora\.r \| 2 \|$/m);

  const again = await push("ada/tiny", "--json");
  expect(JSON.parse(again.stdout)).toEqual({
    url: `${hub.endpoint}/ada/tiny`,
    private: true,
    commit: hub.head("ada/tiny"),
    files: [],
    removed: [],
    bytes: 0,
  });
  expect(again.stderr).toContain("ada/tiny exists, and stays private\nnothing to push: ");

  await download(hub, "ada/tiny", join(project, "pulled"));
  expect(await answerOf(pushed, "./pulled")).toBe(await answerOf(pushed, "latest"));

  expect(text).toContain(`messages = [{"role": "system", "content": ${JSON.stringify(SYSTEM)}}, {`);
  hub.restrict(BASE, { gatedTo: [TOKEN] });
  hub.restrict(`datasets/${DATASET}`, { privateTo: [TOKEN] });
  const hidden = await push("ada/hidden");
  expect(hidden.stdout).toContain(
    "warning: org/base is gated. Its terms also apply to what you push.\n",
  );
  const hiddenCard = String((await filesOf(hub, "ada/hidden")).get("README.md"));
  for (const secret of [SYSTEM, DATASET]) expect(hiddenCard).not.toContain(secret);
  expect(hiddenCard).toContain('messages = [{"role": "system", "content": "…"}, {"role": "user"');
});

test("an adapter whose base is not on the hub is pushed as a whole model, or as GGUF files; other weights don't mix", async () => {
  const pushed = await createPushProject("lora: { r: 2 },");
  const { project, hub, push, env } = pushed;
  const { stdout, stderr } = await push("ada/tiny", "latest", "--public", "--json");
  expect(stderr).toContain("the adapter's base is not on the hub: pushing the whole model\n");
  const { commit, files, ...rest } = JSON.parse(stdout) as { commit: string; files: string[] };
  expect(rest).toMatchObject({ private: false, url: `${hub.endpoint}/ada/tiny` });
  expect(commit).toBe(hub.head("ada/tiny"));
  expect(files.toSorted()).toEqual([
    ...["README.md", "config.json", "generation_config.json", "model.safetensors"],
    ...["tokenizer.json", "tokenizer_config.json"],
  ]);
  const card = String((await filesOf(hub, "ada/tiny")).get("README.md"));
  expect(card).toContain("A model, trained with Kit 0.1.0 from random weights: ");
  expect(card).toMatch(/^\| training \| 12 \| [0-9a-f]{16} \| a local file \|$/m);
  expect(card).not.toMatch(/base_model|license|datasets|model-index/);
  const anonymous = { ...env, HF_TOKEN: "", HF_HOME: join(project, "new") };
  const answer = await answerOf(pushed, "latest");
  expect(await answerOf({ ...pushed, env: anonymous }, "ada/tiny")).toBe(answer);

  await push("ada/files", "--format", "gguf");
  await push("ada/files", "--format", "gguf", "--type", "q8_0");
  const [job = ""] = readdirSync(join(project, ".kit/jobs"));
  const earlier = await push("ada/files", `.kit/jobs/${job}/artifacts/step-2`, "--format", "gguf");
  expect(earlier).toMatchObject({
    code: 1,
    stderr:
      "kit: ada/files has files of another checkpoint (tiny-q8_0.gguf), which the new card would describe too. Name another repository, or delete them there.\n",
  });
  await download(hub, "ada/files", join(project, "pulled"));
  expect(readdirSync(join(project, "pulled")).toSorted()).toEqual([
    ...[".gitattributes", "README.md", "tiny-q8_0.gguf", "tiny.gguf"],
  ]);
  expect(await answerOf(pushed, "./pulled/tiny.gguf")).toBe(answer);
  const mixed = await push("ada/files");
  expect(mixed).toMatchObject({
    code: 1,
    stderr: "kit: ada/files has another kind of model (tiny.gguf). Name another repository.\n",
  });
});

test("Ctrl-C before the commit says that nothing was pushed", async () => {
  const { project, hub, env } = await createPushProject("");
  const { child, ended } = startKit(project, ["push", "ada/tiny"], env);
  hub.intercept = ({ path }) => path.includes("/preupload/") && child.kill("SIGINT");
  expect(await ended).toMatchObject({
    code: 130,
    stderr: "Interrupted: nothing was pushed.\n",
  });
});

test("a wrong command line is refused before the hub is asked", async () => {
  const project = createTinyProject();
  const refusals = [
    ["ada/tiny", "There is no job in "],
    ["ada/tiny --type q8_0", "--type is for GGUF files. Add --format gguf."],
    ["ada/tiny ./src", "src is not a job's checkpoint, from which Kit could write a model card."],
  ];
  for (const [words = "", sentence] of refusals) {
    const { code, stderr } = await runKit(project, ["push", ...words.split(" ")]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining(sentence!) as string,
    });
  }
  const { job, directory } = createJob(project, "tiny", [STARTED]);
  mkdirSync(join(directory, "artifacts/step-2"), { recursive: true });
  expect(await runKit(project, ["push", "ada/tiny"])).toMatchObject({
    code: 2,
    stderr: `kit: Job ${job.id} is running. Wait for its end, or name one of its checkpoints: npx kit push ada/tiny .kit/jobs/${job.id}/artifacts/step-2\n`,
  });
});
