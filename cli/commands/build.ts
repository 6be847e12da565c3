import { buildBundle, showPath } from "../bundle.ts";
import { print } from "../print.ts";
import { enterProject } from "../project.ts";

export async function build(
  entry: string | undefined,
  options: { project: string },
): Promise<void> {
  const project = enterProject(options.project);
  const path = await buildBundle(project, entry);
  print(`built ${showPath(project, path)}`);
}
