import { buildBundle, showPath } from "../bundle.ts";
import { enterProject } from "../project.ts";

export async function build(
  entry: string | undefined,
  options: { project: string },
): Promise<void> {
  const project = enterProject(options.project);
  const path = await buildBundle(project, entry);
  console.log(`built ${showPath(project, path)}`);
}
