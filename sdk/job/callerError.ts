import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { isKitError } from "../../protocol/error.ts";

/** The thrown error, or one that describes a thrown value of another kind. */
export function asError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  return new Error(
    `The project's code threw ${inspect(thrown)}. Throw an Error, which has a stack.`,
  );
}

/**
 * Gives an error of Kit's the stack of the call in the project's code. The stack of where Kit noticed,
 * on another thread or after a wait, leads nowhere.
 * @param called the function that the project's code called, which calls this at once
 */
export async function atCaller<T>(called: object, work: () => Promise<T>): Promise<T> {
  const call: { stack?: string } = {};
  Error.captureStackTrace(call, called as () => unknown);
  try {
    return await work();
  } catch (error) {
    if (isKitError(error)) {
      const calls = call.stack?.split("\n").filter((line) => /^\s+at /.test(line)) ?? [];
      error.stack = [`${error.name}: ${error.message}`, ...calls].join("\n");
    }
    throw error;
  }
}

export function withPlace(text: string, error: Error): string {
  const place = sourcePlace(error);
  return place ? `${text} (${place})` : text;
}

/** The first place in the project's own sources that the stack names: `src/kit/trainer.ts:3:9`. */
export function sourcePlace(error: Error): string | undefined {
  for (const line of error.stack?.split("\n") ?? []) {
    const found = /(?:^at (?:async )?|\()((?:file:\/\/)?\/[^<>]*):(\d+):(\d+)\)?$/.exec(
      line.trim(),
    );
    if (!found) continue;
    const [, place = "", row, column] = found;
    const path = place.startsWith("file:") ? fileURLToPath(place) : place;
    const local = relative(process.cwd(), path);
    const isOwn = !local.startsWith("..") && !/^(node_modules|\.kit)\b/.test(local);
    if (isOwn) return `${local}:${row}:${column}`;
  }
  return undefined;
}
