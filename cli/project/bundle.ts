import type { ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, parse, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { BuildFailure, BuildOptions, BuildResult, Plugin } from "esbuild";
import {
  OTHERS_READ,
  isRegularFile,
  denyOthersWrite,
  makeDirectory,
  refuseLink,
  writeFileAtomically,
} from "../../disk/file.ts";
import { didYouMean } from "../../protocol/didYouMean.ts";
import { DEFAULT_ENTRY } from "../../protocol/entry.ts";
import { KitError, cannotWrite, isKitError, messageOf } from "../../protocol/error.ts";
import { parseRecord } from "../../protocol/isRecord.ts";
import { PACKAGE, installedKit, wrongKit } from "../packages/kitPackage.ts";
import { packageImports, refuseAliases } from "./imports.ts";
import { kitCommand } from "./kitCommand.ts";

const NODE_TARGET = "node20.19";

/**
 * Reuses the default entry's bundle or builds it; always builds a named entry.
 * @param onStale called with a sentence when the reused bundle lacks the latest edits
 */
export async function ensureBundle(
  project: string,
  entry: string | undefined,
  onStale: (sentence: string) => void,
): Promise<string> {
  const path = bundlePath(project, DEFAULT_ENTRY);
  refuseLink(dirname(path));
  if (entry !== undefined || !isRegularFile(path)) return buildBundle(project, entry);
  for (const kitPath of [dirname(dirname(path)), dirname(path), path]) denyOthersWrite(kitPath);
  const changed = changedInputs(path, project);
  if (changed.length > 0) onStale(describeStale(project, changed));
  return path;
}

function describeStale(project: string, [first = "", ...others]: string[]): string {
  const isRemoved = others.length === 0 && !existsSync(join(project, first));
  const subject = others.length === 0 ? first : `${first} and ${others.length} more`;
  return `${subject} ${isRemoved ? "was removed" : "changed"} after the last build, which this run uses. To train your latest edits, run: ${kitCommand(project, "build")}`;
}

/**
 * Bundles the project's and its workspace's code; keeps packages as imports.
 * @returns the bundle's absolute path
 * @throws KitError `ENTRY_NOT_FOUND`, `BUILD_FAILED` (file, line and column), `WRONG_KIT`, `CANNOT_WRITE`
 */
export async function buildBundle(project: string, requestedEntry?: string): Promise<string> {
  const entry = requestedEntry ?? DEFAULT_ENTRY;
  const entryPath = resolve(project, entry);
  if (!existsSync(entryPath)) {
    if (requestedEntry !== undefined) {
      throw new KitError(
        "ENTRY_NOT_FOUND",
        `There is no ${entry} in ${project}. Check the name of the file to build.`,
      );
    }
    throw new KitError(
      "ENTRY_NOT_FOUND",
      `There is no ${entry} in ${project}. Create a project with "kit init", or name another folder with --project.`,
    );
  }
  const path = bundlePath(project, entry);
  const code = await bundle(project, entryPath, path);
  try {
    makeDirectory(dirname(path));
    // Only the owner may write code that Kit runs, whatever the umask.
    writeFileAtomically(path, code, { mode: OTHERS_READ });
  } catch (error) {
    if (isKitError(error)) throw error;
    throw cannotWrite(`write ${path}`, error);
  }
  return path;
}

async function bundle(project: string, entryPath: string, outfile: string): Promise<string> {
  try {
    const result = await buildOnce({
      absWorkingDir: project,
      // A relative path, because esbuild would treat a * in an absolute one as a glob. Absolute on another drive.
      entryPoints: [relativeEntry(project, entryPath)],
      // The source map's paths begin there, and Node resolves them from the bundle's real path.
      outfile: realPath(outfile),
      bundle: true,
      format: "esm",
      platform: "node",
      target: NODE_TARGET,
      // Not esbuild's "module", which Node does not know.
      conditions: ["node"],
      // CSS has no meaning in Node.
      loader: { ".css": "empty" },
      plugins: [kitImport(project, entryPath), packageImports(project)],
      sourcemap: "inline",
      logLevel: "silent",
      write: false,
      metafile: true,
    });
    if (result.metafile) refuseAliases(result.metafile);
    const code = result.outputFiles?.[0]?.text ?? "";
    return withInputs(code, project, Object.keys(result.metafile?.inputs ?? {}));
  } catch (error) {
    const thrown: unknown = (error as Partial<BuildFailure>).errors?.[0]?.detail ?? error;
    if (isKitError(thrown)) throw thrown;
    throw new KitError("BUILD_FAILED", describeFailure(error), { cause: error });
  }
}

/** Where a path really is, even if its last folders don't exist yet. */
function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : join(realPath(dirname(path)), basename(path));
}

function relativeEntry(project: string, entryPath: string): string {
  const path = relative(project, entryPath);
  return isAbsolute(path) ? path : `./${path}`;
}

/** Resolves `kit`, `kit/engines` and `kit/metrics` to the project's copy, else to this package. */
function kitImport(project: string, entryPath: string): Plugin {
  return {
    name: "kit-import",
    setup(build) {
      build.onResolve({ filter: /^kit(\/.*)?$/ }, ({ path: name }) => {
        const installed = installedKit(entryPath);
        if (installed === "another package") throw wrongKit(project);
        const names = Object.keys(PACKAGE.exports);
        if (!names.includes(name)) {
          const text = `There is no "${name}".${didYouMean(name, names)} Kit has ${names.join(", ")}.`;
          return { errors: [{ text }] };
        }
        const ownModule = PACKAGE.exports[name as keyof typeof PACKAGE.exports];
        return { path: installed === "kit" ? name : pathToFileURL(ownModule).href, external: true };
      });
    },
  };
}

function describeFailure(error: unknown): string {
  const failure = error as Partial<BuildFailure>;
  const first = failure.errors?.[0];
  if (!first) return messageOf(error);
  const { location, text } = first;
  const prefix = location ? `${location.file}:${location.line}:${location.column + 1}: ` : "";
  const moreErrors = (failure.errors?.length ?? 1) - 1;
  return `${prefix}${text}${moreErrors > 0 ? ` (and ${moreErrors} more)` : ""}`;
}

/** A named entry gets its own bundle, so that the page keeps using `src/kit/index.ts`. */
function bundlePath(project: string, entry: string): string {
  const path = relative(project, resolve(project, entry));
  const isDefault = path === join(DEFAULT_ENTRY);
  const digest = createHash("sha256").update(path).digest("hex").slice(0, 8);
  const name = isDefault ? "index" : `${parse(path).name}-${digest}`;
  return join(project, ".kit", "build", `${name}.mjs`);
}

/** Relative to the project, for display. */
export function showPath(project: string, path: string): string {
  return relative(project, path) || ".";
}

/**
 * Begins the comment at the end of a bundle, which has a digest of each source file's content. Modification
 * times would change with a checkout, a copy or a wrong clock.
 */
const INPUTS_MARK = "\n//# kitInputs=";

/** @param inputs relative to the project */
function withInputs(code: string, project: string, inputs: string[]): string {
  const digests = Object.fromEntries(inputs.map((path) => [path, digestOf(join(project, path))]));
  return `${code.trimEnd()}${INPUTS_MARK}${JSON.stringify(digests)}\n`;
}

/** The files that changed since a bundle was built, relative to the project. */
function changedInputs(bundle: string, project: string): string[] {
  const code = readFileSync(bundle, "utf8");
  // Empty for a bundle that an older Kit built, without the comment.
  const digests = parseRecord(code.slice(code.lastIndexOf(INPUTS_MARK) + INPUTS_MARK.length));
  return Object.keys(digests).filter((path) => digestOf(join(project, path)) !== digests[path]);
}

/** Undefined if the file can't be read, so that a removed file counts as changed. */
function digestOf(path: string): string | undefined {
  try {
    return createHash("sha256").update(readFileSync(path)).digest("base64url");
  } catch {
    return undefined;
  }
}

/**
 * Builds with esbuild, then ends esbuild's process. An orphan would become a child of PID 1, which
 * may be `kit ui` in a container, and Node doesn't reap processes that it hasn't started.
 */
async function buildOnce(options: BuildOptions): Promise<BuildResult> {
  const { build, stop } = await import("esbuild");
  const children: ChildProcess[] = [];
  const onStart = (message: unknown) => {
    children.push((message as { process: ChildProcess }).process);
  };
  subscribe("child_process", onStart);
  try {
    return await build(options);
  } finally {
    unsubscribe("child_process", onStart);
    await stop();
    await Promise.all(children.map(untilEnded));
  }
}

async function untilEnded(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  // Stay alive until the child has exited.
  child.ref();
  await once(child, "exit");
}
