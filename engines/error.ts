/** For `embedded/model`, `embedded/train` and `embedded/infer` until they say `KitError`. */
export { KitError as EngineError } from "../protocol/error.ts";
