import { expect, test } from "vitest";
import { createJob } from "../../jobs.ts";
import { createProject } from "../../project.ts";
import { asBytes, openRaw, statusesIn } from "../../rawHttp.ts";
import { startServer } from "../../uiServer.ts";

test.each([100, 2_000])(
  "one request too many on a connection is 429 after the others are answered, and ends it: of %i",
  async (count) => {
    const { port } = await startServer();
    const { socket, closed } = await openRaw(port);
    socket.write(asBytes("/").repeat(count));
    const answer = await closed();
    expect(statusesIn(answer)).toEqual([...Array.from({ length: 33 }, () => 200), 429]);
    expect(answer).toMatch(/^Connection: close\r$/m);
    expect(answer).toContain("Wait for their answers, then send more.");
  },
);

test("streams that wait for their turn on a connection end with it, and are not many", async () => {
  const project = createProject();
  const { job } = createJob(project);
  const { port, url } = await startServer({ project, limits: { streams: 2 } });
  const events = `api/jobs/${job.id}/events`;
  const { socket, until } = await openRaw(port);
  socket.write(asBytes(`/${events}`).repeat(10));
  await until(/retry: /);
  const other = await fetch(`${url}${events}`);
  expect(other.status).toBe(200);
  await other.body?.cancel();
  socket.destroy();
  const both = async () => {
    const responses = await Promise.all([fetch(`${url}${events}`), fetch(`${url}${events}`)]);
    for (const { body } of responses) await body?.cancel();
    return responses.map(({ status }) => status);
  };
  await expect.poll(both).toEqual([200, 200]);

  const greedy = await openRaw(port);
  greedy.socket.write(asBytes(`/${events}`).repeat(200));
  await greedy.until(/retry: /);
  greedy.socket.destroy();
  await expect.poll(both).toEqual([200, 200]);
});
