import { messageOf } from "../../protocol/error.ts";
import type { ManifestMessage } from "../../protocol/http.ts";
import { buildBundle } from "../bundle.ts";
import { createCommand, projectOption } from "../command.ts";
import { describeError, onUncaught } from "../describeError.ts";
import { loadTrainer } from "../loadTrainer.ts";
import { print } from "../print.ts";
import { enterProject } from "../project.ts";

/** Builds and loads the project, and sends its manifest to the server that spawned this process. */
export const command = createCommand("manifest")
  .addOption(projectOption())
  .action(async (options) => {
    // Without the server, nothing else would end this process if the project's code keeps it alive.
    process.once("disconnect", () => process.exit());
    // Don't let the channel keep this process alive: Node ends it when an await can never settle.
    process.channel?.unref();
    onUncaught((thrown) => send({ error: describeError(thrown) }));
    try {
      const bundle = await buildBundle(enterProject(options.project));
      const trainer = await loadTrainer(bundle);
      send({ trainer: trainer ? { name: trainer.name } : null });
    } catch (error) {
      send({ error: messageOf(error) });
    }
  });

/** Sends the message, then ends the process, whatever the project's code left running. */
function send(message: ManifestMessage): void {
  if (!process.send) {
    print(JSON.stringify(message));
    process.exit();
  }
  process.send(message, () => process.exit());
}
