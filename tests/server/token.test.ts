import { expect, test } from "vitest";
import { askRaw, startServer } from "../uiServer.ts";

const TOKEN = "correct horse";
const LINK = `?token=${encodeURIComponent(TOKEN)}`;

function ask(url: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { headers, redirect: "manual" });
}

async function cookieOf(answer: Response): Promise<string> {
  await answer.body?.cancel();
  return answer.headers.get("set-cookie")?.split(";")[0] ?? "";
}

test("the link leads to the page, and its cookie opens every route", async () => {
  const { url } = await startServer({ token: TOKEN });
  const link = await ask(url + LINK);
  expect(link.status).toBe(303);
  expect(link.headers.get("location")).toBe("./");
  expect(link.headers.get("set-cookie")).toMatch(/^[^;]+; HttpOnly; SameSite=Strict$/);
  const cookie = await cookieOf(link);
  expect(cookie).not.toContain(TOKEN);
  for (const path of ["", "assets/app-1a2b.js", "api/jobs"]) {
    expect((await ask(url + path, { cookie })).status).toBe(200);
  }
});

test("with the cookie, the link and an old link lead to the page", async () => {
  const { url } = await startServer({ token: TOKEN });
  const cookie = await cookieOf(await ask(url + LINK));
  for (const link of [LINK, "?token=one-of-before"]) {
    const again = await ask(url + link, { cookie });
    expect([again.status, again.headers.get("location")]).toEqual([303, "./"]);
    expect(await cookieOf(again)).toBe(cookie);
  }
  expect((await ask(`${url}api/jobs?token=one-of-before`, { cookie })).status).toBe(200);
});

test("without the token every route is 401 and says what to do", async () => {
  const { url } = await startServer({ token: TOKEN });
  for (const path of ["", "assets/app-1a2b.js", "nothing", "api/jobs", "api/train"]) {
    const answer = await ask(url + path);
    expect(answer.status).toBe(401);
    const said = await answer.text();
    expect(said).toContain("Open the address that kit ui last printed");
    expect(said).toContain("set KIT_UI_TOKEN");
  }
  expect((await fetch(`${url}api/train`, { method: "POST" })).status).toBe(401);
});

test("a cookie of another token, of another server or made up is refused", async () => {
  const one = await startServer({ token: TOKEN });
  const other = await startServer({ token: "another" });
  const cookie = await cookieOf(await ask(`${other.url}?token=another`));
  expect((await ask(one.url, { cookie })).status).toBe(401);
  const renamed = cookie.replace(String(other.port), String(one.port));
  expect((await ask(one.url, { cookie: renamed })).status).toBe(401);
  expect((await ask(one.url, { cookie: `kit-ui-${one.port}=${TOKEN}` })).status).toBe(401);
});

test("cookies of one host name differ by the browser's port", async () => {
  const { port } = await startServer({ token: TOKEN });
  const hosts = ["localhost:4000", "localhost:4001", "localhost"];
  const answers = await Promise.all(hosts.map((host) => askRaw(port, `/${LINK}`, "GET", { host })));
  expect(answers.map(({ headers }) => String(headers["set-cookie"]).split("=")[0])).toEqual([
    "kit-ui-4000",
    "kit-ui-4001",
    "kit-ui-default",
  ]);
});

test("a session ends when the token changes, and the new link begins another", async () => {
  const first = await startServer({ token: TOKEN });
  const old = await cookieOf(await ask(first.url + LINK));
  await first.close();
  const { url } = await startServer({ token: "another", port: first.port });
  const events = "api/jobs/20260101-000000-000-aaaa/events";
  const routes = ["", "assets/app-1a2b.js", "api/jobs", "api/train", "api/manifest", events];
  const answers = await Promise.all([
    ...routes.map((path) => ask(url + path, { cookie: old })),
    ask(url + LINK, { cookie: old }),
    fetch(`${url}api/train`, { method: "POST", headers: { cookie: old } }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 401));
  const cookie = await cookieOf(await ask(`${url}?token=another`, { cookie: old }));
  // A browser may hold both, of this path and of one above.
  expect((await ask(url, { cookie: `${old}; ${cookie}` })).status).toBe(200);
});

test.each([
  ["tokens", (url: string, guess: number) => ask(`${url}?token=${guess}`)],
  [
    "cookies",
    (url: string, guess: number) => {
      const cookie = `kit-ui-${new URL(url).port}=${guess}`;
      return ask(url, { cookie });
    },
  ],
])("wrong %s wait for their answers, and too many at once get a 429", async (_, guessAt) => {
  const { url } = await startServer({ token: TOKEN });
  const guesses = Array.from({ length: 30 }, (_, guess) => guessAt(url, guess));
  // Those that wait are cut off when the server closes.
  for (const each of guesses) each.catch(() => undefined);
  const some = (wanted: number) =>
    Promise.any(
      guesses.map(async (answer) => {
        const { status } = await answer;
        if (status !== wanted) throw new Error(`${status}`);
      }),
    );
  await some(429);
  // The right token does not wait behind wrong ones.
  expect((await ask(url + LINK)).status).toBe(303);
  await some(401);
});
