import type { LoadedModel } from "../../protocol/engine.ts";
import { asInferResult } from "../../protocol/engineReport.ts";
import type { Infer } from "../callbacks.ts";
import { checkRequest } from "../validation/inferRequest.ts";
import { atCaller } from "./callerError.ts";

/**
 * A model that an engine has loaded, with requests and answers checked at the boundary.
 * @param engine the engine's name
 */
export function guardModel(engine: string, { infer: answer, close }: LoadedModel): LoadedModel {
  const infer: Infer = (request) =>
    atCaller(infer, async () => {
      return asInferResult(engine, await answer(checkRequest(request)));
    });
  return { infer, close };
}
