import { cannotWrite } from "../../protocol/cannotWrite.ts";
import { EXIT_CODE } from "../process/exitCode.ts";
import { reportError } from "./errors.ts";

/**
 * Lets a command finish when its output can't be written, as on a full disk, and makes it exit with
 * an error. Ignores EPIPE: `kit start | head` must not stop the run.
 */
export function watchOutput(): void {
  let lost: NodeJS.ErrnoException | undefined;
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    lost ??= error;
  });
  process.stderr.on("error", () => undefined);
  process.on("exit", (code) => {
    // The process may exit before the last write's event.
    lost ??= process.stdout.errored ?? undefined;
    if (!lost || lost.code === "EPIPE") return;
    reportError(cannotWrite("write the output", lost));
    if (code === EXIT_CODE.completed) process.exitCode = EXIT_CODE.failed;
  });
}
