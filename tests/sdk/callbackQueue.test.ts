import { describe, expect, it } from "vitest";
import { callWithin } from "../../sdk/callbackQueue.ts";

describe("a callback", () => {
  it("that is not done within the limit is given up", async () => {
    const call = callWithin(20, "onLog", () => new Promise(() => {}));
    await expect(call).rejects.toMatchObject({
      code: "CALLBACK_STUCK",
      message: "onLog never returned. Look for a promise in it that does not settle.",
    });
  });

  it("leaves nothing behind in the process", async () => {
    const before = process.listenerCount("beforeExit");
    await callWithin(1000, "onLog", () => {});
    await expect(callWithin(1000, "onLog", () => Promise.reject(new Error("no")))).rejects.toThrow(
      "no",
    );
    const broken = () => {
      throw new Error("no");
    };
    await expect(callWithin(1000, "onLog", broken)).rejects.toThrow("no");
    expect(process.listenerCount("beforeExit")).toBe(before);
  });
});
