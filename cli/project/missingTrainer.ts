import { noTrainer } from "../../protocol/entry.ts";
import { isTrainer } from "../../sdk/kit.ts";

/** Why a project's module exposes no trainer, and what to write. The page has the document's words for all of it. */
export function missingTrainer(exports: Record<string, unknown>, entry: string): string {
  const values = Object.values(exports);
  if (values.some(isTrainer)) {
    return `${entry} exports a trainer without createKit. Write export default createKit({ trainer }).`;
  }
  const uncalled = Object.entries(exports).find(([, value]) => typeof value === "function");
  if (uncalled) {
    const [name, { name: own }] = uncalled as [string, () => unknown];
    return `${entry} exports the function ${name === "default" ? own : name}, which nothing calls. Write export default createKit({ trainer: createTrainer({ … }) }).`;
  }
  if (values.length === 0) {
    return `${entry} exports nothing. Write export default createKit({ trainer }).`;
  }
  return noTrainer(entry);
}
