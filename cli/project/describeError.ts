import { join } from "node:path";
import { didYouMean } from "../../protocol/didYouMean.ts";
import { isKitError } from "../../protocol/error.ts";
import * as engines from "../../sdk/engines.ts";
import * as kit from "../../sdk/index.ts";
import * as metrics from "../../sdk/metrics.ts";
import { asError, withLocation } from "../../sdk/projectCode.ts";
import { installedKit, wrongKit } from "../packages/kitPackage.ts";
import { installCommand } from "../packages/manager.ts";
import { lastExitCode } from "../process/exitCode.ts";
import { reportError } from "../terminal/errors.ts";

/** Describes a thrown value in one sentence, with its source location if known. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return asError(error).message;
  if (isKitError(error)) return withLocation(error.message, error);
  if (isWrongKit(error)) return wrongKit(process.cwd()).message;
  const missing = missingPackage(error);
  if (missing === "kit") {
    return "The bundle was built by a Kit that has moved or was removed. Run kit build, or reload the page.";
  }
  if (missing) {
    return `The package ${missing} is not installed. Install it with: ${installCommand(process.cwd(), missing)}`;
  }
  const required = /^Dynamic require of "(.+)" is not supported/.exec(error.message)?.[1];
  if (required !== undefined) return withLocation(describeRequire(required), error);
  const message = error.message.replace(
    /'(file:[^']*sdk\/(?:index|engines|metrics)\.js)'/,
    (_, file: string) => `'${moduleOf(file)}'`,
  );
  const [, module = "", name = ""] =
    /module '(.+)' does not provide an export named '(.+)'/.exec(message) ?? [];
  const names = EXPORTS[module];
  if (names)
    return `There is no ${name} in ${module}.${didYouMean(name, names)} It has ${names.join(", ")}.`;
  return withLocation(`${error.name}: ${message || "an error without a message"}`, error);
}

/** The most likely imports of each of Kit's modules, for advice. */
const USUAL_IMPORTS: Record<string, string> = {
  kit: "{ createKit, createTrainer }",
  "kit/engines": "{ python }",
  "kit/metrics": "{ exactMatch }",
};

const EXPORTS: Record<string, string[]> = {
  kit: Object.keys(kit),
  "kit/engines": Object.keys(engines),
  "kit/metrics": Object.keys(metrics),
};

/** The bundle is an ES module, which has no `require`. */
function describeRequire(required: string): string {
  const name = moduleOf(required);
  const names = USUAL_IMPORTS[name];
  const statement = names ? `import ${names} from "${name}"` : `an import of "${name}"`;
  return `require("${name}") does not work here, because projects are built as ES modules. Write ${statement} instead.`;
}

/** The import name of one of Kit's modules, from that name or its path in a bundle. */
function moduleOf(imported: string): string {
  const [, own] = /^file:.*sdk\/(index|engines|metrics)\.js$/.exec(imported) ?? [];
  return own ? `kit/${own}`.replace("/index", "") : imported;
}

/** An error of Node, or of Yarn's Plug'n'Play, which has its own properties. */
interface ResolutionError extends NodeJS.ErrnoException {
  pnpCode?: string;
  data?: { dependencyName?: string };
}

/** The package that an import did not find; `kit` for the path of a Kit that has moved. */
function missingPackage(error: Error): string | undefined {
  const { code, pnpCode, data } = error as ResolutionError;
  if (pnpCode === "UNDECLARED_DEPENDENCY") return data?.dependencyName;
  if (code !== "ERR_MODULE_NOT_FOUND") return undefined;
  if (/'[^']*dist[\\/]sdk[\\/](index|engines|metrics)\.js'/.test(error.message)) return "kit";
  return /^Cannot find package '((?!\/|\w:)[^']+)'/.exec(error.message)?.[1];
}

/** Whether an import failed because another package is installed as `kit`. */
function isWrongKit(error: Error): boolean {
  const isLinking = error instanceof SyntaxError || "code" in error;
  if (!isLinking || !/['"/\\]kit['"/\\]/.test(error.message)) return false;
  return installedKit(join(process.cwd(), "package.json")) === "another package";
}

/**
 * Exits with a description of the project's uncaught error.
 * @param explain the exit listener that this replaces
 */
export function exitOnUncaught(explain: (code: number) => void): { stop: () => void } {
  return onUncaught((thrown) => {
    process.off("exit", explain);
    process.exit(lastExitCode(reportError(new Error(describeError(thrown), { cause: thrown }))));
  });
}

/** Calls back with the project's uncaught exceptions and unhandled rejections. */
export function onUncaught(handle: (thrown: unknown) => void): { stop: () => void } {
  const onRejection = (reason: unknown) => {
    // A project with its own listener handles its rejections itself.
    if (process.listenerCount("unhandledRejection") === 1) handle(reason);
  };
  process.on("uncaughtException", handle);
  process.on("unhandledRejection", onRejection);
  return {
    stop() {
      process.off("uncaughtException", handle);
      process.off("unhandledRejection", onRejection);
    },
  };
}
