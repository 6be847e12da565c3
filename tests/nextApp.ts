import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { saveModel } from "../engines/checkpoint/checkpoint.ts";
import { readPage, snippetsOf } from "./docs/snippets.ts";
import { FAMILIES, TINY, tinyWeights } from "./engines/embedded/tiny.ts";
import { STYLES, writeTokenizer } from "./engines/tokens/styles.ts";
import { NPM, createFolder, pack, run } from "./packed.ts";

/** Pinned, so that a release of theirs fails no test of ours. */
const PACKAGES = [
  ...["next@16.4.6", "react@19.3.1", "react-dom@19.3.1"],
  ...["typescript@6.0.3", "@types/node@20.19.43", "@types/react@19.3.0"],
];
const LAYOUT = `import type { ReactNode } from "react";
export default function Layout({ children }: { children: ReactNode }) {
  return <html lang="en"><body>{children}</body></html>;
}
`;
const PAGE = `export default function Page() {
  return <p>Ask at /api/ask</p>;
}
`;
const QUIET = { NEXT_TELEMETRY_DISABLED: "1", CI: "1" };

/** The app of docs/nextjs.md, with the packed Kit, in a folder outside of any project. */
export async function createNextApp(): Promise<string> {
  const folder = createFolder();
  const app = join(folder, "app");
  const page = snippetsOf(readPage("nextjs.md"));
  const codeOf = (path: string) => page.find((snippet) => snippet.path === path)?.code ?? "";
  for (const [path, code] of [
    ["package.json", `{"private":true,"type":"module"}\n`],
    ["next.config.mjs", codeOf("next.config.mjs")],
    ["app/api/ask/route.ts", codeOf("app/api/ask/route.ts")],
    ["app/layout.tsx", LAYOUT],
    ["app/page.tsx", PAGE],
  ] as const) {
    mkdirSync(dirname(join(app, path)), { recursive: true });
    writeFileSync(join(app, path), code);
  }
  const { filename } = await pack(folder);
  const install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
  await run(app, [...NPM, ...install, ...PACKAGES, join(folder, filename)]);
  return app;
}

/** The `next` of an app: its script, for Node. */
export function nextOf(app: string): string {
  return join(app, "node_modules/next/dist/bin/next");
}

export async function buildNextApp(app: string): Promise<string> {
  return run(app, [process.execPath, nextOf(app), "build"], QUIET);
}

/** Models that an app can ask: one with Kit's own tokens, one with a published model's. */
export const MODELS = {
  "Kit's own tokens": (path: string) =>
    saveModel(path, tinyWeights(1, TINY), { shape: TINY, promptStyle: "message" }),
  "a tokenizer and a template of Hugging Face's": (path: string) => {
    const style = STYLES["Qwen 3"]!;
    const shape = { ...FAMILIES["Qwen 3"]!, context: 96, vocabulary: style.size };
    saveModel(path, tinyWeights(1, shape), { shape, promptStyle: "message" });
    writeTokenizer(path, style);
  },
};

/** Copies the files that Next's own tracer finds behind Kit's entry point, as a function's bundle has them. */
export async function traceKit(app: string, to: string): Promise<string[]> {
  const code = `import { createRequire } from "node:module";
const { nodeFileTrace } = createRequire(process.argv[1])("next/dist/compiled/@vercel/nft");
const { fileList } = await nodeFileTrace(["node_modules/kit/dist/sdk/index.js"]);
console.log(JSON.stringify([...fileList]));
`;
  const node = [process.execPath, "--input-type=module", "-e", code, nextOf(app)];
  const files = JSON.parse(await run(app, node)) as string[];
  rmSync(to, { recursive: true, force: true });
  for (const file of files) cpSync(join(app, file), join(to, file));
  return files;
}
