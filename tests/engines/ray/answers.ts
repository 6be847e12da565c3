import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it, vi } from "vitest";
import type { EngineModel } from "../../../protocol/engine.ts";
import type { InferRequest } from "../../../protocol/infer.ts";
import { createTinyProject, runKit, tinySource } from "../../kit.ts";
import { PATIENCE_MS } from "../../patience.ts";
import { type Place, TOKEN } from "./environment.ts";

const NOWHERE = "/nowhere/python";
const WHY =
  /^inference runs on the Ray cluster at \S+: There is no Python at \/nowhere\/python \(from KIT_PYTHON\)\. .*$/m;
const QUESTION = { prompt: "1", maxTokens: 8 };
const IMPATIENT_KIT = fileURLToPath(new URL("impatientKit.mjs", import.meta.url));

/** Of an adapter that is here, too, and loaded there. */
export async function expectSameAnswers(at: Place, adapter: string, here: EngineModel) {
  const there = await withoutPython(at).load(adapter, {
    onNote: (text) => expect(text).toMatch(WHY),
  });
  const requests = [
    QUESTION,
    { ...QUESTION, prompt: "1".repeat(200) },
    { ...QUESTION, temperature: 1, seed: 7 },
    { messages: [{ role: "user" as const, content: "3" }], maxTokens: 8 },
    { ...QUESTION, temperature: 3, seed: 1, logprobs: 2 },
    { ...QUESTION, choices: ["0", "1", "01"] },
    { prompt: "1", schema: { type: "object", properties: { a: { enum: ["é", 1] } } } },
    { prompt: "1", schema: { not: {} } },
    { ...QUESTION, stop: ["0", "1"] },
  ];
  const [theirs, ours] = await Promise.all(
    [there, here].map((model) => answersOf(model, requests)),
  );
  expect(theirs).toEqual(ours);
  expect(theirs?.[1]).toMatch(/^KitError: The prompt is too long: its 204 tokens /);
  const [id = ""] = await answering(at);
  expect(id).toMatch(/^kit-infer-/);
  await there.close();
  expect(await answering(at)).not.toContain(id);
}

/** What a model answers, and the parts that it tells of each. */
function answersOf({ infer }: EngineModel, requests: InferRequest[]) {
  return Promise.all(
    requests.map(async (request) => {
      let told = "";
      const answer = await infer(request, ({ text }) => void (told += text)).catch(String);
      if (typeof answer === "string") return answer;
      expect(told).toBe(answer.text);
      return answer;
    }),
  );
}

/** Of a Kit that was killed while its model was loaded there. */
export async function expectNothingLeft(at: Place, adapter: string) {
  const kit = spawn(process.execPath, [IMPATIENT_KIT, adapter], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, RAY_AUTH_TOKEN: TOKEN },
  });
  await once(kit.stdout, "data");
  const [id = ""] = await answering(at);
  expect(id).toMatch(/^kit-infer-/);
  kit.kill("SIGKILL");
  // Not expect.poll, which needs to know its test: others run at the same time.
  const isLeft = async () => expect(await answering(at)).not.toContain(id);
  await vi.waitFor(isLeft, { timeout: PATIENCE_MS });
}

export function describeAnswers(at: () => Place): void {
  it("answers a callback and kit infer on the cluster, where Python is missing here", async () => {
    const { cluster, storage } = at();
    const engine = `engine: ray(${JSON.stringify({ address: cluster.address, storage })}),`;
    const callbacks = `callbacks: { async onCheckpoint({ infer }) {
      console.log("answered " + (await infer({ prompt: "1", maxTokens: 4 })).text);
    } },`;
    const before = `import { ray } from "kit/engines";`;
    const options = `maxSteps: 1, saveSteps: 1, ${callbacks} ${engine}`;
    const project = createTinyProject(tinySource({ before, options }));
    const env = { RAY_AUTH_TOKEN: TOKEN, OMP_NUM_THREADS: "1" };
    const away = { ...env, KIT_PYTHON: NOWHERE };
    const ask = ["infer", "latest", "1", "--max-tokens", "4"];
    const started = await runKit(project, ["start"], away);
    expect(started).toMatchObject({ code: 0, stderr: "" });
    expect(started.stdout).toMatch(WHY);
    const [theirs, ours] = await Promise.all([away, env].map((one) => runKit(project, ask, one)));
    expect(theirs).toMatchObject({ code: 0, stdout: ours?.stdout });
    expect(theirs?.stderr).toMatch(WHY);
    expect(started.stdout).toContain(`\nanswered ${ours?.stdout}`);
    expect(await answering(at())).toEqual([]);
  });
}

function withoutPython({ createEngine }: Place) {
  const python = process.env["KIT_PYTHON"];
  vi.stubEnv("KIT_PYTHON", NOWHERE);
  // It looks at its environment once.
  const engine = createEngine();
  vi.stubEnv("KIT_PYTHON", python);
  return engine;
}

/** The jobs that answer now; tests that ask run one after another. */
async function answering({ cluster: { address } }: Place): Promise<string[]> {
  const headers = { authorization: `Bearer ${TOKEN}`, "user-agent": "kit" };
  const answer = await fetch(`${address}/api/jobs/`, { headers });
  const jobs = (await answer.json()) as { submission_id: string; status: string }[];
  return jobs
    .filter(({ submission_id: id, status }) => id.startsWith("kit-infer-") && status === "RUNNING")
    .map(({ submission_id: id }) => id);
}
