import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, vi } from "vitest";
import type { FetchProgress } from "../../../protocol/engine.ts";
import { createHarm } from "../../faults/harm.ts";
import { createTinyProject, runKit, tinySource } from "../../kit.ts";
import { PATIENCE_MS } from "../../patience.ts";
import { expectNothingLeft, expectSameAnswers } from "./answers.ts";
import { type Place, type RayCluster, TOKEN } from "./environment.ts";
import { startProxy } from "./proxy.ts";
import { SHAPE, train } from "./training.ts";

const KILLED_KIT = fileURLToPath(new URL("killedKit.mjs", import.meta.url));
const ENV = { RAY_AUTH_TOKEN: TOKEN, OMP_NUM_THREADS: "1" };
const LORA = { r: 2, alpha: 4 };
/** Whose float32 weights take 50 MB. */
const LARGE = { ...SHAPE, width: 1024 };

/** Checkpoints of a cluster whose storage this machine does not see. */
export function describeArtifacts(at: () => Place): void {
  it("fetches adapters through the dashboard, and answers from them", async () => {
    const { scratch, storage, createEngine } = at();
    const engine = createEngine({ storage: `file://${storage}` });
    const more = { lora: LORA, maxSteps: 1 };
    const { error, id, directory, saved } = await train(engine, scratch, { more });
    expect(error).toBeUndefined();
    expect(saved).toEqual([1]);
    const adapter = join(directory, "artifacts/step-1");
    expect(readdirSync(adapter)).toContain("adapter_model.safetensors");
    const model = await engine.load(adapter);
    expect(await model.infer({ prompt: "1", maxTokens: 2 })).toMatchObject({ tokens: 2 });
    await expectSameAnswers(at(), adapter, model);
    await expectNothingLeft(at(), adapter);
    await model.close();
    for (const folder of [adapter, join(storage, id)]) rmSync(folder, { recursive: true });
    await expect(engine.remote?.fetch({ directory: adapter })).rejects.toMatchObject({
      code: "CHECKPOINT_INVALID",
      message: expect.stringMatching(
        /^file:\S+ is no longer on the cluster\. Use another checkpoint\.$/,
      ) as string,
    });
  });

  it("leaves a model of 50 MB there until it is asked for, byte for byte through a cut connection", async () => {
    const harm = createHarm("Ray: artifact of 50 MB through a cut connection");
    const { cluster, scratch, storage, createEngine } = at();
    const proxy = await startProxy(cluster.address);
    const engine = createEngine({ storage: `file://${storage}`, address: proxy.address });
    const more = { model: LARGE, maxSteps: 1 };
    const { error, id, directory } = await train(engine, scratch, { more });
    expect(error).toBeUndefined();
    const [here, there] = [join(directory, "artifacts"), join(storage, id)].map((folder) =>
      join(folder, "step-1"),
    );
    expect(readdirSync(dirname(here!))).toEqual(["step-1.stored.json"]);
    const copies: number[] = [];
    for (let attempt = 1; attempt <= 2; attempt++) {
      await killedFetch(here!);
      copies.push(laidOut(cluster, "model.safetensors"));
    }
    // The second attempt has removed what the first has left; without another one, its job ends.
    expect(copies).toEqual([1, 1]);
    const isLeft = () => expect(laidOut(cluster, "model.safetensors")).toBe(0);
    await vi.waitFor(isLeft, { timeout: PATIENCE_MS, interval: 250 });
    const seen: FetchProgress[] = [];
    let isCut = false;
    await engine.remote?.fetch({
      directory: here!,
      onProgress(progress) {
        seen.push(progress);
        if (!isCut && progress.bytes > 1e6) proxy.cut();
        isCut ||= progress.bytes > 1e6;
      },
    });
    proxy.close();
    const names = readdirSync(there!).filter(
      (name) => !name.startsWith(".") && !engine.resumeFiles?.includes(name),
    );
    harm.status(proxy.failures.cut > 0, true);
    harm.events(readdirSync(here!), names);
    for (const name of names) harm.also(digestOf(here!, name), digestOf(there!, name));
    const sizes = names.map((name) => statSync(join(here!, name)).size);
    const totalBytes = sizes.reduce((sum, size) => sum + size, 0);
    expect(totalBytes).toBeGreaterThan(50e6);
    harm.also(seen.at(-1), { bytes: totalBytes, totalBytes });
    const laid = proxy.requests.filter((request) => request.includes("/logs/file?"));
    expect(laid.length).toBeGreaterThan(names.length);
    harm.expectNone();
  });
}

/** Jobs of a project whose checkpoints stay on the cluster. */
export function describeKept(at: () => Place): void {
  it("resumes from a model that is there, asks one there, and exports it", async () => {
    const { cluster, storage } = at();
    const settings = JSON.stringify({ address: cluster.address, storage: `file://${storage}` });
    const project = createTinyProject(
      tinySource({ before: `import { ray } from "kit/engines";`, options: keptThere(settings) }),
    );
    const failed = await runKit(project, ["start"], ENV);
    expect(failed.stdout).toMatch(/\nfetched step 2: (\d+) of \1\n/);
    expect(failed.stderr).toMatch(/^failed: enough\n {2}checkpoint .*step-4 \(on the cluster\)\n/);
    const ids = () => readdirSync(join(project, ".kit/jobs")).sort();
    const [first = ""] = ids();
    const resumed = await runKit(project, ["start", "--resume"], { ...ENV, MORE: "1" });
    expect(resumed).toMatchObject({ code: 0, stderr: "" });
    expect(resumed.stdout).toContain(`resuming job ${first} after step 4`);
    expect(resumed.stdout).not.toContain("optimizer");
    const artifactsOf = (id: string) => readdirSync(join(project, ".kit/jobs", id, "artifacts"));
    const records = ["step-2.stored.json", "step-4.stored.json"];
    expect(artifactsOf(first).sort()).toEqual(["step-2", ...records]);
    const second = ids()[1] ?? "";
    expect(artifactsOf(second)).toEqual(["step-6.stored.json"]);
    const ask = () => runKit(project, ["infer", second, "1", "--max-tokens", "4"], ENV);
    const there = await ask();
    expect(there.stderr).toMatch(
      /^inference runs on the Ray cluster at \S+: the files of step-6 exist only there\n$/,
    );
    const { code, stdout } = await runKit(project, ["export", second, "out"], ENV);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^downloading step-6 from the Ray cluster at \S+, \S+ MB\n(down.*\n)?exporting /,
    );
    const here = join(project, ".kit/jobs", second, "artifacts/step-6");
    expect(digestOf(here, NAME)).toBe(digestOf(join(storage, second, "step-6"), NAME));
    expect(readdirSync(join(project, "out"))).toContain(NAME);
    expect(await ask()).toEqual({ ...there, stderr: "loading PyTorch\n" });
  });
}

/** Of a Kit that is killed while the files are laid out for it. */
async function killedFetch(artifact: string): Promise<void> {
  const kit = spawn(process.execPath, [KILLED_KIT, artifact, "10"], {
    stdio: "inherit",
    env: { ...process.env, RAY_AUTH_TOKEN: TOKEN },
  });
  expect(await once(kit, "exit")).toEqual([null, "SIGKILL"]);
}

/** How many copies of a large file lie where the dashboard can read them. */
function laidOut({ folder }: RayCluster, name: string): number {
  const logs = join(folder, "0/session_latest/logs/kit");
  if (!existsSync(logs)) return 0;
  const copies = readdirSync(logs, { recursive: true, encoding: "utf8" }).filter((path) => {
    const stats = statSync(join(logs, path), { throwIfNoEntry: false });
    return path.endsWith(`/${name}`) && (stats?.size ?? 0) > 50e6;
  });
  return copies.length;
}

const NAME = "model.safetensors";

/** Fails after its last step, the fourth, and has two more once `MORE` is set. */
const keptThere = (
  settings: string,
) => `maxSteps: process.env.MORE ? 6 : 4, saveSteps: 2, engine: ray(${settings}),
  callbacks: {
    onCheckpoint: async ({ step, artifacts }) => {
      if (step === 2) {
        let last;
        await artifacts[0].fetch({ onProgress: (progress) => (last = progress) });
        console.log("fetched step 2: " + last.bytes + " of " + last.totalBytes);
      }
      if (step === 4) throw new Error("enough");
    },
  },`;

function digestOf(folder: string, name: string): string {
  return createHash("sha256")
    .update(readFileSync(join(folder, name)))
    .digest("hex");
}
