import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Imports a package that a project has installed. @param project its folder */
export async function importPackage(name: string, project: string): Promise<unknown> {
  const path = createRequire(join(project, "package.json")).resolve(name);
  return await import(pathToFileURL(path).href);
}
