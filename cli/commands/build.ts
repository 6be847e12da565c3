import { createCommand, projectOption } from "../command.ts";
import { buildBundle, showPath } from "../project/bundle.ts";
import { enterProject } from "../project/folder.ts";
import { print } from "../terminal/print.ts";

export const command = createCommand("build", {
  "kit build": "bundle your edits for the next kit start",
  "kit build src/kit/long.ts": "bundle another file beside the default bundle",
})
  .argument("[entry]", "bundle this file instead")
  .addOption(projectOption())
  .action(async (entry, options) => {
    const project = enterProject(options.project);
    const path = await buildBundle(project, entry);
    print(`built ${showPath(project, path)}`);
  });
