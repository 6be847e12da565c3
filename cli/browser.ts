import { TOKEN_PARAMETER } from "../server/guard/token.ts";

/** Opens a page where somebody can see it; where nobody can, or it fails, nothing happens. */
export async function openBrowser(url: string): Promise<void> {
  // Whoever else uses this machine could read it among the browser's arguments.
  if (new URL(url).searchParams.has(TOKEN_PARAMETER)) return;
  if (!hasBrowser(process.env, process.platform)) return;
  try {
    const { default: isInsideContainer } = await import("is-inside-container");
    if (isInsideContainer()) return;
    const { default: open } = await import("open");
    const child = await open(url);
    // No program to open it with: the URL is printed anyway.
    child.once("error", () => undefined);
  } catch {
    // As above.
  }
}

/** Whether a browser on this machine would be seen by who typed the command. */
export function hasBrowser(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): boolean {
  if (env.CI || env.SSH_CONNECTION || env.SSH_TTY) return false;
  if (env.REMOTE_CONTAINERS || env.CODESPACES) return false;
  return platform !== "linux" || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
}
