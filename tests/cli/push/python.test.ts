import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { PYTHON, hasPython } from "../../engines/python/environment.ts";
import { runKit } from "../../kit.ts";
import { ADAPTER, BASE, createPushProject, download, filesOf } from "./project.ts";

const REFERENCE = fileURLToPath(new URL("./reference.py", import.meta.url));

test.runIf(hasPython)(
  "huggingface_hub reads the card, whose code answers with PEFT as Kit does; its own upload fills the tests' hub alike",
  async () => {
    const { project, hub, env, push } = await createPushProject(ADAPTER);
    await push("ada/tiny");
    const folder = join(project, "pulled");
    await download(hub, "ada/tiny", folder);
    const card = readFileSync(join(folder, "README.md"), "utf8");
    const code = /```python\n(.*?)```/s.exec(card)?.[1] ?? "";
    const runPython = (...words: string[]) =>
      promisify(execFile)(PYTHON, words, {
        // Without Xet, whose storage the tests' hub lacks.
        env: { ...process.env, ...env, HF_HOME: join(project, "python"), HF_HUB_DISABLE_XET: "1" },
      });
    const answered = runPython("-c", code);
    const { stdout } = await runPython(REFERENCE, "ada/tiny", folder);
    expect(JSON.parse(stdout)).toEqual({
      ...{ base: BASE, library: "peft", license: "apache-2.0", tags: ["kit", "sft", "lora"] },
      results: [
        ["exactMatch", 0],
        ["evalLoss", expect.any(Number)],
      ],
      commits: [hub.head("ada/python"), hub.head("ada/python")],
    });
    const words = ["infer", "latest", "…", "--max-tokens", "128"];
    expect((await runKit(project, words, env)).stdout).toBe((await answered).stdout);
    const [ours, theirs] = [await filesOf(hub, "ada/tiny"), await filesOf(hub, "ada/python")];
    expect(Object.fromEntries(theirs)).toEqual(Object.fromEntries(ours));
  },
);
