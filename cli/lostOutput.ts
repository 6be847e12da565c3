import { cannotWrite } from "../protocol/cannotWrite.ts";
import { reportError } from "./errors.ts";
import { EXIT_CODE } from "./exitCode.ts";

/**
 * Lets a command go on without its output, and fail at its end if that is lost, as on a full disk. A
 * closed pipe is no loss: `kit start | head` must not stop the run.
 */
export function watchOutput(): void {
  let lost: NodeJS.ErrnoException | undefined;
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    lost ??= error;
  });
  process.stderr.on("error", () => undefined);
  process.on("exit", (code) => {
    // Of a last write, whose event the exit was too early for.
    lost ??= process.stdout.errored ?? undefined;
    if (!lost || lost.code === "EPIPE") return;
    reportError(cannotWrite("write the output", lost));
    if (code === EXIT_CODE.completed) process.exitCode = EXIT_CODE.failed;
  });
}
