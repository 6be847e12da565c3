import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { KitError } from "../../protocol/error.ts";
import { kitDependency } from "./kitDependency.ts";
import { addPackage } from "./manager.ts";

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
  const install = addPackage(project, `kit@${kitDependency(project)}`);
  return new KitError(
    "WRONG_KIT",
    `The package kit installed for ${project} is a different package. Install this one with: ${install}`,
  );
}
