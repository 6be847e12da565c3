import { messageOf } from "../../protocol/error.ts";
import type { ManifestMessage } from "../../protocol/http.ts";
import { createCommand, projectOption } from "../command.ts";
import { buildBundle } from "../project/bundle.ts";
import { describeError, onUncaught } from "../project/describeError.ts";
import { enterProject } from "../project/folder.ts";
import { loadTrainer } from "../project/loadTrainer.ts";
import { print } from "../terminal/print.ts";

/** Builds and loads the project, and sends its manifest to the server that spawned this process. */
export const command = createCommand("manifest")
  .addOption(projectOption())
  .action(async (options) => {
    // Without the server, nothing else would end this process if the project's code keeps it alive.
    process.once("disconnect", () => process.exit());
    // Without an open channel, Node ends this process when an await can never settle.
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
