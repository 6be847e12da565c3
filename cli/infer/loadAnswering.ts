import type { LoadedModel } from "../../protocol/engine.ts";
import { KitError, isKitError, messageOf } from "../../protocol/error.ts";
import { type LoadModelOptions, loadModel } from "../../sdk/loadModel.ts";
import { kitCommand } from "../kitCommand.ts";

/**
 * Loads a model with the engine that trained it, or without its Python, if that is missing here and the
 * default engine can read the model.
 * @throws KitError as `loadModel`; what both engines lack, and what to do, if neither can
 */
export async function loadAnswering(
  project: string,
  directory: string,
  { engine, ...options }: LoadModelOptions & Required<Pick<LoadModelOptions, "onNote">>,
): Promise<LoadedModel> {
  if (!engine) return loadModel(directory, options);
  try {
    return await loadModel(directory, { engine, ...options });
  } catch (error) {
    if (!isKitError(error) || !NO_PYTHON.has(error.code)) throw error;
    const install = kitCommand(project, "python install");
    const model = await loadModel(directory, options).catch((here: unknown) => {
      throw neither(error, install, here);
    });
    options.onNote(
      `the embedded engine answers, because the Python that trained this is not here; to make one, run: ${install}`,
    );
    return model;
  }
}

const NO_PYTHON = new Set(["PYTHON_NOT_FOUND", "PYTHON_UNFIT"]);

function neither(python: KitError, install: string, here: unknown): KitError {
  return new KitError(
    python.code,
    `Make a Python that can answer, with: ${install}. Without it: ${python.message} The embedded engine cannot answer, either: ${messageOf(here)}`,
    { cause: here },
  );
}
