// Bundles each entry point in place, because Node takes about a millisecond to load a module, and `kit start`
// would load 230. The modules stay beside the bundles, for tests. Part of `npm run build`.
import { chmodSync, existsSync, readFileSync, readdirSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, posix, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

/** rolldown names modules by paths with the system's separators. */
const slashed = (path) => path.replaceAll(sep, "/");

// The real path, because rolldown gives modules' real paths.
const outDir = slashed(realpathSync(process.argv[2] ?? "dist"));

/** Entry points that one process loads together. They share chunks, so that each module exists once. */
const MAIN = ["cli/kit", "cli/program", "sdk/index", "sdk/engines", "sdk/metrics"];
/** Entry points of the leading threads, which share one chunk. */
const LEADERS = readdirSync(`${outDir}/engines`)
  .flatMap((engine) =>
    ["train/trainWorker", "infer/inferWorker"].map((name) => `engines/${engine}/${name}`),
  )
  .filter((name) => existsSync(`${outDir}/${name}.js`));
/** Entry points of the helper threads, one file each. */
const HELPERS = ["engines/embedded/step/helperWorker", "engines/embedded/infer/decoderWorker"];

/**
 * Chunks besides rolldown's own: the matching modules, with their imports that no earlier chunk
 * contains.
 */
const GROUPS = [
  { name: "protocol", test: inDist(/^protocol\//) },
  { name: "sdk", test: inDist(/^sdk\/\w+\.js$/) },
  // Modules that `kit` loads before it knows the command.
  { name: "cli", test: inDist(/^cli\/(?!(kit|program|runtime)\.js)/), tags: ["$initial"] },
];

/** Tests a module's path relative to `dist/`. */
function inDist(pattern) {
  return (path) => pattern.test(slashed(relative(outDir, path)));
}

const JSONC_MODULES = fileURLToPath(
  new URL("../node_modules/jsonc-parser/lib/esm/main.js", import.meta.url),
);

const ROOT = "@ROOT@";
const FILE_URL = /new URL\("([^"]+)", import\.meta\.url\)/g;

/**
 * Adjusts each `new URL("…", import.meta.url)` to its chunk, as a literal that bundlers and file tracers
 * understand.
 */
const filesFromChunk = {
  name: "files-from-chunk",
  transform(code, path) {
    const folder = dirname(slashed(relative(outDir, path)));
    const otherCode = code
      .replaceAll(FILE_URL, "")
      .replaceAll("createRequire(import.meta.url)", "");
    if (otherCode.includes("import.meta.url")) {
      throw new Error(`${path}: write new URL("…", import.meta.url), with a literal.`);
    }
    return code.replaceAll(
      FILE_URL,
      (_, file) => `new URL("${ROOT}/${posix.join(folder, file)}", import.meta.url)`,
    );
  },
  renderChunk: (code, { fileName }) =>
    code.replaceAll(ROOT, relative(dirname(fileName), "") || "."),
};

/** Small packages, without dependencies, to bundle. */
const BUNDLED_PACKAGES = [
  "@valibot/to-json-schema",
  "jsonc-parser",
  "@fastify/busboy",
  // Kit uses a parser of the first, and a pattern's translation of the second.
  "@huggingface/jinja",
  "@huggingface/tokenizers",
];

/** Its main file hides its imports from bundlers. Node finds no named exports in it, so this has a default export. */
const jsoncParser = {
  name: "jsonc-parser",
  resolveId: (id) => (id === "jsonc-parser" ? `\0${id}` : undefined),
  load: (id) =>
    id === "\0jsonc-parser"
      ? `export * as default from ${JSON.stringify(JSONC_MODULES)}`
      : undefined,
};

/** Prepends the bundled packages' licenses. */
const licenses = {
  name: "licenses",
  renderChunk(code, { moduleIds }) {
    const bundled = BUNDLED_PACKAGES.filter((name) =>
      moduleIds.some((id) => slashed(id).includes(`/${name}/`)),
    );
    const texts = bundled.map((name) => {
      const folder = new URL(`../node_modules/${name}/`, import.meta.url);
      const file = readdirSync(folder).find((name) => /^LICENSE(\.md)?$/.test(name));
      return readFileSync(new URL(file, folder), "utf8");
    });
    return [...texts.map((text, i) => `/*! ${bundled[i]}\n${text}*/\n`), code].join("");
  },
};

await bundle(MAIN, { groups: GROUPS });
await bundle(LEADERS, true, "thread_");
for (const helper of HELPERS) await bundle([helper], false);
await bundle(["engines/python/grammar"], false, "", {
  format: "iife",
  minify: true,
  entryFileNames: "engines/python/kit_engine/answer/grammar.js",
});
// npm makes it executable only when it first links it into a project.
chmodSync(`${outDir}/cli/kit.js`, 0o755);

/** @param prefix of its chunks' names, unique among the bundles */
async function bundle(names, codeSplitting, prefix = "", outputOptions = {}) {
  const build = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, `${outDir}/${name}.js`])),
    platform: "node",
    cwd: outDir,
    // Keeps packages external, except the small ones.
    external: (id) => /^[^./]/.test(id) && !isAbsolute(id) && !BUNDLED_PACKAGES.includes(id),
    plugins: [jsoncParser, filesFromChunk, licenses],
    // Names of modules would take 33 kB.
    experimental: { attachDebugInfo: "none" },
  });
  await build.write({
    dir: outDir,
    entryFileNames: "[name].js",
    chunkFileNames: `chunks/${prefix}[name].js`,
    codeSplitting,
    // A running process must still find each name after a rebuild of `dist/`.
    minifyInternalExports: false,
    // Without JSDoc, which editors read from the type declarations.
    comments: { legal: true, annotation: true, jsdoc: false },
    ...outputOptions,
  });
  await build.close();
}
