import { ray } from "kit/engines";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { TOKEN } from "./environment.ts";

const dataset = { type: "jsonl", path: "rows.jsonl" } as const;

describe("the options of ray()", () => {
  it.each<[object, RegExp]>([
    [{ address: "head:8265" }, /^ray: "address" must be an http:.*, but is 'head:8265'\.$/],
    [
      { address: "http://me:secret@head" },
      /^ray: "address" must be .* goes into RAY_AUTH_TOKEN\.$/,
    ],
    [{ token: 12_345 }, /^ray: "token" must be a non-empty string of printable ASCII /],
    [{ token: "ab\u00e9" }, /^ray: "token" must be a non-empty string of .* characters\.$/],
    [{ token: " " }, /^ray: "token" must be a non-empty string of .* characters\.$/],
    [{ workers: 0 }, /^ray: "workers" must be a whole number from 1 to 10000, but is 0\.$/],
    [{ workers: 1e9 }, /^ray: "workers" must be a whole number from 1 to 10000, but is /],
    [
      { cpusPerWorker: 1e-9 },
      /^ray: "cpusPerWorker" must be 0, or a number from 0\.0001 to 10000, /,
    ],
    [{ cpusPerWorker: 1e308 }, /^ray: "cpusPerWorker" must be 0, or a number from /],
    [
      { gpusPerWorker: 1.5 },
      /^ray: "gpusPerWorker" must be .*, or a whole number up to 10000, but /,
    ],
    [{ cpusPerWorker: 0 }, /^ray: "cpusPerWorker" and "gpusPerWorker" are both 0, /],
    [{ storage: "runs" }, /^ray: "storage" must be an absolute path or a URL .*, but is 'runs'\.$/],
    [{ storage: "http://h/x" }, /^ray: "storage" must be .*, but is 'http:\/\/h\/x'\.$/],
    [{ storage: "/mnt/a\nb" }, /^ray: "storage" must be an absolute path or a URL /],
    [{ storage: "abfss://runs:secret@account.dfs.core.windows.net" }, /own environment\.$/],
    [{ storage: "s3://KEY:se/cret@bucket/x" }, /^ray: "storage" .* own environment\.$/],
    [{ storage: "s3://bucket/x?sig=secret" }, /own environment\.$/],
    [{ storage: "s3://bucket/x?region=a;secret_key=secret" }, /own environment\.$/],
    [{ storage: "s3://bucket/x#secret_key=secret" }, /own environment\.$/],
    [{ storage: "s3://bucket/x?secret_key=secret" }, /^ray: "storage" .* own environment\.$/],
    [{ worker: 2 }, /^ray: unknown option "worker"\. Did you mean "workers"\? It takes address, /],
    [{ nodes: 2 }, /^ray: unknown option "nodes"\. It takes address, token, workers, /],
  ])("refuses %j", (options, message) => {
    expect(() => ray(options)).toThrow(message);
    expect(() => ray(options)).not.toThrow(/:secret|=secret|se\/cret/);
  });

  it.each([
    { gpusPerWorker: 0.5, cpusPerWorker: 0 },
    { gpusPerWorker: 2, cpusPerWorker: 1.5 },
    { token: "abc\n", storage: "/mnt/me@home" },
    { storage: "abfss://runs@account.dfs.core.windows.net/kit" },
    { storage: "s3://bucket/runs?region=eu-west-1" },
  ])("takes %j", (options) => {
    expect(ray(options).name).toBe("ray");
  });

  it("shares a batch out evenly, or says so before anything starts", () => {
    const engine = ray({ address: "http://head:8265/", workers: 3, token: TOKEN });
    expect(() => engine.prepare({ dataset })).toThrow(
      /^"batchSize" must be a multiple of ray's 3 /,
    );
    const alone = { dataset, batchSize: 3, objective: { type: "kto" } } as const;
    expect(() => engine.prepare(alone)).toThrow(
      /^"batchSize" must be at least 6, .* a worker's batch/,
    );
    const { engine: settings } = engine.prepare({ dataset, batchSize: 6 });
    expect(settings).toEqual({
      ...{ name: "ray", address: "http://head:8265" },
      ...{ workers: 3, cpusPerWorker: 1, gpusPerWorker: 0 },
    });
  });

  it.each([
    " http://head:8265/ ",
    "HTTP://Head:8265",
    "http://head:8265/#/overview",
    "http://head:8265?a=1",
  ])(
    "takes the address %j as people copy it, as an option and from Ray's own variables",
    (given) => {
      vi.stubEnv("RAY_API_SERVER_ADDRESS", " ");
      vi.stubEnv("RAY_ADDRESS", given);
      onTestFinished(() => void vi.unstubAllEnvs());
      for (const engine of [ray(), ray({ address: given })]) {
        expect(engine.prepare({ dataset }).engine).toMatchObject({ address: "http://head:8265" });
      }
      vi.stubEnv("RAY_API_SERVER_ADDRESS", "https://first/ray");
      expect(ray().prepare({ dataset }).engine).toMatchObject({ address: "https://first/ray" });
    },
  );

  it.each([
    [undefined, /^No Ray cluster is set\. Set ray\(/],
    ["", /^No Ray cluster is set\. Set ray\(/],
    ["auto", /^RAY_ADDRESS is auto, but ray\(\) needs the dashboard's URL, such as http:/],
    ["head:6379", /^RAY_ADDRESS is head:6379, but ray\(\) needs/],
    ["ray://head:10001", /^RAY_ADDRESS is ray:\/\/head:10001, but ray\(\) needs/],
    ["http://me:secret@head:8265", /^RAY_ADDRESS contains a username, password or key\./],
    ["me:secret@head:8265", /^RAY_ADDRESS contains a username, password or key\./],
  ])(
    "says what is wrong with RAY_ADDRESS=%s when it trains, not before",
    async (given, message) => {
      vi.stubEnv("RAY_API_SERVER_ADDRESS", undefined);
      vi.stubEnv("RAY_ADDRESS", given);
      onTestFinished(() => void vi.unstubAllEnvs());
      const engine = ray();
      // So that a job that is there can be followed without it.
      const config = engine.prepare({ dataset });
      expect(JSON.stringify(config)).not.toContain("address");
      const { signal } = new AbortController();
      const training = { config, directory: "never", signal, onEvent: () => {} };
      for (const begun of [engine.train(training), engine.check({ config })]) {
        await expect(begun).rejects.toThrow(message);
        await expect(begun).rejects.not.toThrow(/secret/);
      }
    },
  );
});
