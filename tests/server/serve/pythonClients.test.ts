import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";
import { PYTHON, hasPython } from "../../engines/python/environment.ts";
import { createScratch } from "../../engines/scratch.ts";
import { sayTo, startServe } from "../../serveCommand.ts";
import { saveToolModel } from "../../toolModel.ts";

const PROGRAM = fileURLToPath(new URL("pythonClients.py", import.meta.url));
/** Without it, litellm asks the network for prices. */
const ENV = { ...process.env, LITELLM_LOCAL_MODEL_COST_MAP: "True" };

const scratch = createScratch();
afterAll(() => scratch.remove());

it.runIf(hasPython)("Python's openai and litellm get responses, whole and streamed", async () => {
  const folder = scratch.directory();
  saveToolModel(`${folder}/tools`);
  const serve = await startServe(folder, ["tools"]);
  const { text } = await sayTo(serve, { model: "tools", max_tokens: 16 });
  const { stdout } = await promisify(execFile)(PYTHON, ["-B", PROGRAM, serve.baseURL], {
    env: ENV,
  });
  expect(JSON.parse(stdout)).toEqual({
    texts: Array.from({ length: 5 }, () => text),
    calls: new Array(3).fill(expect.stringMatching(/^\{"at":"t?here"\}$/)),
    ...{ answered: true, parsed: { kind: expect.any(Boolean) }, refused: "previous_response_id" },
  });
});
