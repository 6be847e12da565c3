import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { dimensionsOf } from "../../../engines/families/dimensions.ts";
import { randomWeights } from "../../../engines/families/randomWeights.ts";
import { STYLES, writeTokenizer } from "../../engines/tokens/styles.ts";
import { type Hub, startHub } from "../../hub/server.ts";
import { createTinyProject, runKit, tinySource } from "../../kit.ts";

export const BASE = "org/base";
export const DATASET = "org/rows";
export const TOKEN = "hf_writer";
/** Words of the rows, which no push may hold. */
export const SECRET = "tulip";
const STYLE = STYLES["SmolLM"]!;
const SHAPE = dimensionsOf({
  ...{ layers: 1, heads: 2, width: 32, intermediateSize: 32, context: 256 },
  ...{ vocabulary: STYLE.size, tied: true },
});
/** A system message that all rows on the hub share. */
export const SYSTEM = "It's `a` digit.";
const rows = (about: object) =>
  Array.from({ length: 12 }, (_, row) =>
    JSON.stringify({ ...about, prompt: `${SECRET} ${row}`, completion: `${row}` }),
  ).join("\n");

export const ADAPTER = `model: "${BASE}", lora: { r: 2 }, evalSplit: 0.25, evalSteps: 2,
  evaluate: { metrics: { exactMatch }, rows: 2, maxTokens: 4 },`;

export interface PushProject {
  project: string;
  hub: Hub;
  env: Record<string, string>;
  push: (...words: string[]) => ReturnType<typeof runKit>;
}

/** A project with a job of the given options, beside a hub with its base. */
export async function createPushProject(options: string, onHub = false): Promise<PushProject> {
  const dataset = `dataset: { type: "hub", name: "${DATASET}", revision: "main" },`;
  const before = 'import { exactMatch } from "kit/metrics";\nvoid exactMatch;';
  const source = tinySource({ name: "tiny", options: onHub ? options + dataset : options, before });
  const project = createTinyProject(source, { "data.jsonl": rows({}) });
  const base = join(project, "base");
  mkdirSync(base);
  saveModel(base, randomWeights(SHAPE, 1), { shape: SHAPE, promptStyle: "message" });
  writeTokenizer(base, STYLE);
  writeFileSync(join(base, "README.md"), "---\nlicense: apache-2.0\n---\n");
  const files = { "data.jsonl": rows({ system: SYSTEM }) };
  const hub = await startHub({ [BASE]: { files: base }, [`datasets/${DATASET}`]: { files } });
  onTestFinished(hub.close);
  const env = { HF_ENDPOINT: hub.endpoint, HF_HOME: join(project, "hf"), HF_TOKEN: TOKEN };
  const { code, stderr } = await runKit(project, ["start"], env);
  if (code !== 0) throw new Error(stderr);
  return { project, hub, env, push: (...words) => runKit(project, ["push", ...words], env) };
}

/** A repository's files at its newest commit. */
export async function filesOf(hub: Hub, repo: string): Promise<Map<string, Buffer>> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const get = (path: string) => fetch(`${hub.endpoint}/${path}`, { headers });
  const info = (await (await get(`api/models/${repo}`)).json()) as {
    siblings: { rfilename: string }[];
  };
  const names = info.siblings.map(({ rfilename }) => rfilename);
  const files = names.map(async (name): Promise<[string, Buffer]> => {
    const response = await get(`${repo}/resolve/main/${name}`);
    return [name, Buffer.from(await response.arrayBuffer())];
  });
  return new Map(await Promise.all(files));
}

/** Writes a repository's files into a new folder, as `hf download` does. */
export async function download(hub: Hub, repo: string, folder: string): Promise<void> {
  mkdirSync(folder);
  for (const [name, data] of await filesOf(hub, repo)) writeFileSync(join(folder, name), data);
}
