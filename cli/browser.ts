import { TOKEN_PARAMETER } from "../server/token.ts";

/** Opens a page in a browser. Does nothing if this machine has no visible browser, or on failure. */
export async function openBrowser(url: string): Promise<void> {
  // Other users of this machine could read the token in the browser's arguments.
  if (new URL(url).searchParams.has(TOKEN_PARAMETER)) return;
  if (!hasBrowser(process.env, process.platform)) return;
  try {
    const { default: isInsideContainer } = await import("is-inside-container");
    if (isInsideContainer()) return;
    const { default: open } = await import("open");
    const child = await open(url);
    // Ignore a missing browser: the URL is printed anyway.
    child.once("error", () => undefined);
  } catch {
    // As above: no browser is needed.
  }
}

/** Whether the user would see a browser that opens on this machine. */
export function hasBrowser(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): boolean {
  if (env.CI || env.SSH_CONNECTION || env.SSH_TTY) return false;
  if (env.REMOTE_CONTAINERS || env.CODESPACES) return false;
  return platform !== "linux" || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
}
