import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { KitError } from "../../protocol/error.ts";
import { VERSION } from "../../protocol/version.ts";
import { kitDependency } from "./kitDependency.ts";
import { addPackage, findInstallation, runKit } from "./manager.ts";

/** npm's registry has another package of this name. */
type Found = "kit" | "another package" | "nothing";

/** Finds the package that `import … from "kit"` in a file resolves to. */
export function installedKit(file: string): Found {
  try {
    const path = createRequire(file).resolve("kit/package.json");
    const { bin } = JSON.parse(readFileSync(path, "utf8")) as { bin?: { kit?: unknown } };
    const isOurs = typeof bin?.kit === "string" && bin.kit.endsWith("dist/cli/kit.js");
    return isOurs ? "kit" : "another package";
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND";
    return isThere ? "another package" : "nothing";
  }
}

/** @param project the folder whose `kit` is another package */
export function wrongKit(project: string): KitError {
  return new KitError(
    "WRONG_KIT",
    `The package kit installed for ${project} is a different package. Install this one with: ${installOwn(project)}`,
  );
}

/**
 * @param project a folder that has another version of Kit
 * @param version undefined if it is too old to say
 */
export function otherVersion(project: string, version = "an older version"): KitError {
  const run = runKit(findInstallation(project).manager);
  return new KitError(
    "KIT_VERSION",
    `This is Kit ${VERSION}, but the project's trainer is of ${version}. In the project's folder, run its own with: ${run}; or install this one with: ${installOwn(project)}`,
  );
}

function installOwn(project: string): string {
  return addPackage(project, `kit@${kitDependency(project)}`);
}
