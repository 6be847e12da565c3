import { join } from "node:path";

const isWindows = () => process.platform === "win32";

/** The interpreter of a virtual environment. */
export function pythonOfEnvironment(folder: string): string {
  return isWindows() ? join(folder, "Scripts", "python.exe") : join(folder, "bin", "python");
}

/** The interpreter of a conda environment. */
export function pythonOfConda(folder: string): string {
  return isWindows() ? join(folder, "python.exe") : pythonOfEnvironment(folder);
}

/** Commands that may be a Python 3. Windows' launcher, `py`, takes the newest and passes its arguments on. */
export function pythonCommands(): string[] {
  if (isWindows()) return ["python", "py"];
  return ["python3", "python3.13", "python3.12", "python3.11", "python3.10"];
}
