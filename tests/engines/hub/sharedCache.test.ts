import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { fetchModel } from "../../../engines/hub/fetchModel.ts";
import { hubSettings } from "../../../engines/hub/hubSettings.ts";
import { startHub } from "../../hub/server.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { TINY, tinyWeights } from "../embedded/tiny.ts";
import { PYTHON, hasPython } from "../python/environment.ts";

const NAME = { repoType: "model", repo: "org/tiny", revision: "main" } as const;
const DOWNLOAD = `
import huggingface_hub
print(huggingface_hub.snapshot_download("org/tiny"))
`;

test.runIf(hasPython)("Python finds what Kit has downloaded, and Kit what Python has", async () => {
  const files = join(scratchDirectory(), "model");
  saveModel(files, tinyWeights(), { shape: TINY, promptStyle: "message" });
  const hub = await startHub({ [NAME.repo]: { files } });
  onTestFinished(hub.close);
  const python = async (home: string, env: Record<string, string>) => {
    const whole = { ...process.env, HF_HOME: home, HF_ENDPOINT: hub.endpoint, ...env };
    const { stdout } = await promisify(execFile)(PYTHON, ["-c", DOWNLOAD], { env: whole });
    return stdout.trim();
  };
  const kit = async (home: string, env: Record<string, string>) => {
    const settings = hubSettings({ HF_HOME: home, HF_ENDPOINT: hub.endpoint, ...env });
    return (await fetchModel(NAME, { settings })).directory;
  };
  const [ours, theirs] = [scratchDirectory(), scratchDirectory()];
  const offline = { HF_HUB_OFFLINE: "1" };
  const downloaded = await kit(ours, {});
  expect(await python(ours, offline)).toBe(downloaded);
  const found = await python(theirs, {});
  expect(await kit(theirs, offline)).toBe(found);
});
