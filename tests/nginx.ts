import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { createProject } from "./project.ts";

const NGINX = process.env.NGINX_PATH ?? "/usr/sbin/nginx";
const DEBIAN_SETTINGS = "/etc/nginx/nginx.conf";

/**
 * Debian's nginx in front of a port.
 * @returns asks for a path through it
 */
export async function startNginx(
  port: number,
): Promise<(path: string, method?: string) => Promise<IncomingMessage>> {
  const socketPath = await serveWithNginx(`location / { proxy_pass http://127.0.0.1:${port}; }`);
  return async (path, method = "GET") => {
    const asked = request({ socketPath, path, method, agent: false });
    onTestFinished(() => void asked.destroy());
    asked.end();
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    return response;
  };
}

/**
 * Debian's nginx with Debian's settings and one plain server. It listens on a socket file, for
 * which no free port has to be guessed.
 * @returns the path of the socket file
 */
export async function serveWithNginx(location: string): Promise<string> {
  const folder = createProject();
  const socketPath = join(folder, "nginx.sock");
  const settings = readFileSync(DEBIAN_SETTINGS, "utf8");
  const own = settings
    .replace(/^user .*$/m, "")
    .replace(/^pid .*$/m, `pid ${folder}/nginx.pid; daemon off;`)
    .replace(/\/var\/log\/nginx/g, folder)
    .replace(/^\s*include \/etc\/nginx\/modules-enabled.*$/m, "")
    .replace(/^\s*include \/etc\/nginx\/conf\.d.*$/m, "")
    .replace(
      /^\s*include \/etc\/nginx\/sites-enabled.*$/m,
      () => `server { listen unix:${socketPath}; ${location} }`,
    );
  expect(own).toContain(socketPath);
  mkdirSync(join(folder, "tmp"));
  writeFileSync(join(folder, "nginx.conf"), own);
  const child = spawn(NGINX, ["-p", folder, "-c", join(folder, "nginx.conf")], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const ended = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  await expect.poll(() => answers(socketPath)).toBe(true);
  return socketPath;
}

async function answers(socketPath: string): Promise<boolean> {
  const socket = connect(socketPath);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    // Not yet.
    return false;
  } finally {
    socket.destroy();
  }
}
