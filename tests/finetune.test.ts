import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { saveModel } from "../engines/checkpoint/checkpoint.ts";
import { dimensionsOf } from "../engines/families/dimensions.ts";
import { randomWeights } from "../engines/families/randomWeights.ts";
import { STYLES, writeTokenizer } from "./engines/tokens/styles.ts";
import { startHub } from "./hub/server.ts";
import { runKit } from "./kit.ts";
import { createProject } from "./project.ts";

const MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct";
const STYLE = STYLES["SmolLM"]!;
/** As SmolLM2's config, with smaller sizes. */
const SHAPE = dimensionsOf({
  ...{ layers: 2, heads: 4, kvHeads: 2, width: 32, intermediateSize: 64, context: 512 },
  ...{ vocabulary: STYLE.size, tied: true },
});

test("the finetune template trains a model of the hub, whose adapter answers and is exported; without a network it says what to do", async () => {
  const home = createProject();
  const files = join(home, "model");
  saveModel(files, randomWeights(SHAPE, 1), { shape: SHAPE, promptStyle: "message" });
  writeTokenizer(files, STYLE);
  const hub = await startHub({ [MODEL]: { files } });
  onTestFinished(hub.close);
  await runKit(home, ["init", "tickets", "--template", "finetune"]);
  const project = join(home, "tickets");
  expect(readFileSync(join(project, "package.json"), "utf8")).toContain(`"name": "tickets"`);

  const offline = { HF_HOME: join(home, "none"), HF_ENDPOINT: "http://127.0.0.1:9" };
  const failed = await runKit(project, ["start"], offline);
  expect(failed.code).toBe(1);
  expect(failed.stderr).toMatch(
    /^failed: Cannot download HuggingFaceTB\/SmolLM2-135M-Instruct from 127\.0\.0\.1:9: .* Check the network, set HF_ENDPOINT to a mirror, or copy the model's folder here and pass its path\./,
  );

  const env = { HF_HOME: join(home, "hf"), HF_ENDPOINT: hub.endpoint };
  const { code, stdout } = await runKit(project, ["start"], env);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^downloading HuggingFaceTB\/SmolLM2-135M-Instruct, [\d.]+ MB$/m);
  expect(stdout).toMatch(/^ {2}row length +up to 512 tokens$/m);
  expect(stdout).toMatch(/^ {2}learning rate +0\.0002$/m);
  expect(stdout.match(/^evaluated step \d+: exactMatch .*, jsonFields /gm)).toHaveLength(3);
  const losses = [...stdout.matchAll(/^step .* eval +([\d.]+)/gm)].map(([, loss]) => Number(loss));
  expect(losses).toHaveLength(2);
  expect(losses.at(-1)).toBeLessThan(losses[0]!);
  const ask = ["K-4711: I paid twice.", "--max-tokens", "8"];
  const answer = await runKit(project, ["infer", "latest", ...ask], env);
  expect(answer).toMatchObject({ code: 0, stderr: "" });

  rmSync(env.HF_HOME, { recursive: true });
  const fetched = await runKit(project, ["infer", "latest", ...ask], env);
  expect(fetched).toEqual({
    ...answer,
    stderr: expect.stringMatching(
      /^downloading HuggingFaceTB\/SmolLM2-135M-Instruct, [\d.]+ MB\n$/,
    ),
  });

  const exported = await runKit(project, ["export", "latest"], env);
  expect(exported).toMatchObject({ code: 0, stderr: "" });
  expect(exported.stdout).toMatch(
    /^exporting \.kit\/jobs\/\S+\/artifacts\/step-180\nexported to ticket-triage, [\d.]+ MB; try it: npx kit infer \.\/ticket-triage\n$/,
  );
  expect(await runKit(project, ["infer", "./ticket-triage", ...ask], offline)).toEqual(answer);
  const again = await runKit(project, ["export", "latest"], env);
  expect(again.code).toBe(1);
  expect(again.stderr).toMatch(/^kit: \S+ticket-triage already exists\. Choose a new/);
});
