import type { ChildProcess } from "node:child_process";

/** How a process ended. Windows' own codes, such as 0xc0000005, are known in hexadecimal. */
export function describeEnd(
  code: ChildProcess["exitCode"],
  signal?: ChildProcess["signalCode"],
): string {
  const isWindowsCode = code !== null && code > 0xff;
  return signal ?? `code ${isWindowsCode ? `0x${code.toString(16)}` : code}`;
}
