import type { LoadedModel } from "../protocol/engine.ts";
import { asInferResult } from "../protocol/engineReport.ts";
import { assertRequest } from "./inferRequest.ts";

/** A model that an engine has loaded, with requests and answers checked at the boundary. */
export function guardModel({ infer, close }: LoadedModel): LoadedModel {
  return {
    async infer(request) {
      assertRequest(request);
      return asInferResult(await infer(request));
    },
    close,
  };
}
