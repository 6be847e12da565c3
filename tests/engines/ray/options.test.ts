import { ray } from "kit/engines";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { TOKEN } from "./environment.ts";

describe("the options of ray()", () => {
  it.each<[object, RegExp]>([
    [{ address: "head:8265" }, /^ray: "address" must be an http:/],
    [{ address: "http://me:secret@head" }, /^ray: "address" must be .* without a password/],
    [{ workers: 0 }, /^ray: "workers" must be a whole number of at least 1, but is 0\.$/],
    [{ token: 12_345 }, /^ray: "token" must be a non-empty string\.$/],
    [{ storage: "runs" }, /^ray: "storage" must be an absolute path or a URL, but is 'runs'\.$/],
    [{ nodes: 2 }, /^ray: unknown option "nodes"\. It takes address, token, workers, /],
  ])("refuses %j", (options, message) => {
    expect(() => ray(options)).toThrow(message);
  });

  it("shares a batch out evenly, or says so before anything starts", () => {
    const engine = ray({ address: "http://head:8265/", workers: 3, token: TOKEN });
    const dataset = { type: "jsonl", path: "rows.jsonl" } as const;
    expect(() => engine.prepare({ dataset })).toThrow(
      /^"batchSize" must be a multiple of ray's 3 /,
    );
    const { engine: settings } = engine.prepare({ dataset, batchSize: 6 });
    expect(settings).toEqual({
      ...{ name: "ray", address: "http://head:8265" },
      ...{ workers: 3, cpusPerWorker: 1, gpusPerWorker: 0 },
    });
  });

  it("takes its address from Ray's own variables, or asks for it", () => {
    const dataset = { type: "jsonl", path: "rows.jsonl" } as const;
    vi.stubEnv("RAY_API_SERVER_ADDRESS", undefined);
    vi.stubEnv("RAY_ADDRESS", "auto");
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(() => ray().prepare({ dataset })).toThrow(/^No Ray cluster is named\. Set ray\(/);
    vi.stubEnv("RAY_ADDRESS", "http://head:8265");
    expect(ray().prepare({ dataset }).engine).toMatchObject({ address: "http://head:8265" });
  });
});
