import { expect, test } from "vitest";
import { fromFailure, toFailure } from "../../../engines/embedded/messages.ts";
import { KitError } from "../../../protocol/error.ts";

test("an error of the engine comes through a thread with its code and message", () => {
  const error = fromFailure(
    structuredClone(toFailure(new KitError("MODEL_UNKNOWN", "No."), "answers")),
  );
  expect(error).toBeInstanceOf(KitError);
  expect(error).toMatchObject({ code: "MODEL_UNKNOWN", message: "No." });
});

test.each([
  Object.assign(new Error("Worker terminated due to reaching memory limit"), {
    code: "ERR_WORKER_OUT_OF_MEMORY",
  }),
  new RangeError("WebAssembly.Memory.grow(): Maximum memory size exceeded"),
  new RangeError("Array buffer allocation failed"),
])("running out of memory says what to make smaller: %s", (error) => {
  expect(toFailure(error, "training")).toMatchObject({
    code: "OUT_OF_MEMORY",
    message: expect.stringContaining("Use a smaller batchSize, maxLength or model"),
  });
  expect(toFailure(error, "answers")).toMatchObject({
    code: "OUT_OF_MEMORY",
    message: expect.stringContaining('Use a smaller model, quantize: "q8_0" or shorter prompts'),
  });
});

test("an unforeseen error keeps its message and its stack", () => {
  const error = new TypeError("x is not a function");
  expect(toFailure(error, "answers")).toEqual({
    code: "WORKER_FAILED",
    message: "The engine failed: x is not a function. Run again with DEBUG=kit to see where.",
    stack: error.stack,
  });
  expect(toFailure("thrown text", "answers").message).toBe(
    "The engine failed: thrown text. Run again with DEBUG=kit to see where.",
  );
});
