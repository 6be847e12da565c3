import { Script, createContext } from "node:vm";
import constants from "../constants.json" with { type: "json" };

const DEFAULT_MS = constants.templateSeconds * 1000;
const CONTEXT = createContext({ work: undefined });
const CALL = new Script("work()");

/**
 * Interrupts synchronous work after a time limit, even within a regular expression. Costs 0.1 ms per call.
 * @throws Error at the limit
 */
export function limitTime<T>(work: () => T, milliseconds = DEFAULT_MS): T {
  CONTEXT["work"] = work;
  try {
    return CALL.runInContext(CONTEXT, { timeout: milliseconds }) as T;
  } catch (error) {
    if (!isTimeout(error)) throw error;
    throw new Error(`it takes more than ${milliseconds / 1000} s`, { cause: error });
  } finally {
    CONTEXT["work"] = undefined;
  }
}

/** Whether an error is due to the time limit. */
export function isTimeout(error: unknown): boolean {
  const { code, cause } = error as NodeJS.ErrnoException;
  return code === "ERR_SCRIPT_EXECUTION_TIMEOUT" || (cause !== undefined && isTimeout(cause));
}
