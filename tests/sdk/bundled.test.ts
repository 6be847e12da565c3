import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Format, build } from "esbuild";
import { expect, it } from "vitest";
import { TINY_DATA } from "../kit.ts";
import { ROOT } from "../packed.ts";
import { createProject } from "../project.ts";

const TRAIN = `import { createTrainer } from "kit";
createTrainer({
  name: "bundled",
  model: { layers: 1, heads: 1, width: 8, context: 32 },
  dataset: { type: "jsonl", path: "data.jsonl" },
}).wait().catch((error) => console.log(error.code, error.message));
`;
const LOAD = `import { loadModel } from "kit";
loadModel(".").catch((error) => console.log(error.code, error.message));
`;

it.each<[string, Format, string]>([
  ["trains, as a module", "esm", TRAIN],
  ["trains, as CommonJS", "cjs", TRAIN],
  ["asks, as a module", "esm", LOAD],
  ["asks, as CommonJS", "cjs", LOAD],
])(
  "a program bundled together with kit says to keep kit external: %s",
  async (_, format, contents) => {
    const project = createProject({ "data.jsonl": TINY_DATA });
    const outfile = join(project, format === "esm" ? "bundled.mjs" : "bundled.cjs");
    await build({
      stdin: { contents, resolveDir: ROOT },
      outfile,
      format,
      bundle: true,
      platform: "node",
      logLevel: "silent",
      // What users install, not the sources that the project's own tsconfig.json names.
      tsconfigRaw: {},
    });
    const { stdout } = await promisify(execFile)(process.execPath, [outfile], { cwd: project });
    expect(stdout).toMatch(
      /^KIT_BUNDLED A file that Kit needs is missing \(.*Worker\.js'?\): Kit was bundled, or copied without it\. Keep kit external \(Next\.js: serverExternalPackages: \["kit"\]; esbuild: --external:kit\) and copy its whole folder\.\n$/,
    );
  },
);
