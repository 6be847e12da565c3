import type { EngineModel } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";

const FORMS = ["stop", "choices", "schema", "logprobs"] as const;

/**
 * A model of an engine that answers in its own words alone: it refuses what it does not hold an answer to.
 * @throws KitError `REQUEST_INVALID`, by its `infer`
 */
export function withoutForms({ infer, close }: EngineModel): EngineModel {
  return {
    async infer(request, onPiece) {
      const { toolChoice } = request;
      const isCalled = toolChoice !== undefined && toolChoice !== "auto";
      const form = isCalled ? "toolChoice" : FORMS.find((name) => request[name] !== undefined);
      if (form === undefined) return infer(request, onPiece);
      throw new KitError(
        "REQUEST_INVALID",
        `infer takes no ${form} of a model that this engine answers from. Remove it, or let the embedded engine answer.`,
      );
    },
    close,
  };
}
