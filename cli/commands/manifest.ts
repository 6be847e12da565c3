import { messageOf } from "../../protocol/error.ts";
import type { ManifestMessage } from "../../protocol/manifest.ts";
import { buildBundle } from "../bundle.ts";
import { loadTrainer } from "../load.ts";
import { enterProject } from "../project.ts";
import { describeThrown, onUncaught } from "../thrown.ts";

/** Builds and loads the project, and tells the server that spawned this process what it exposes. */
export async function manifest(options: { project: string }): Promise<void> {
  // The server is gone, and with it who would end what the project's code leaves running.
  process.once("disconnect", () => process.exit());
  // Waiting for that alone keeps nothing alive: an await that cannot settle ends the process.
  process.channel?.unref();
  onUncaught((thrown) => tell({ error: describeThrown(thrown) }));
  try {
    const bundle = await buildBundle(enterProject(options.project));
    const trainer = await loadTrainer(bundle);
    tell({ trainer: trainer && { name: trainer.name } });
  } catch (error) {
    tell({ error: messageOf(error) });
  }
}

/** Ends the process as soon as the message is out, whatever the project's code left running. */
function tell(message: ManifestMessage): void {
  if (!process.send) {
    console.log(JSON.stringify(message));
    process.exit();
  }
  process.send(message, () => process.exit());
}
