import type { LoadedModel } from "../../protocol/engine.ts";
import { KitError, isKitError, messageOf } from "../../protocol/error.ts";
import { type LoadModelOptions, loadModel } from "../../sdk/loadModel.ts";
import { kitCommand } from "../kitCommand.ts";

type Options = LoadModelOptions & Required<Pick<LoadModelOptions, "onNote">>;

/**
 * Loads a model with the engine that trained it, or without its Python, if that is missing here and the
 * default engine can read the model.
 * @throws KitError as `loadModel`; what both engines lack, and what to do, if neither can
 */
export function loadAnswering(
  project: string,
  directory: string,
  options: Options,
): Promise<LoadedModel> {
  return loadBy(loadModel, project, directory, options);
}

/**
 * As `loadAnswering`, with another function that loads.
 * @throws KitError as `load`
 */
export async function loadBy<Model>(
  load: (directory: string, options: LoadModelOptions) => Promise<Model>,
  project: string,
  directory: string,
  { engine, ...options }: Options,
): Promise<Model> {
  if (!engine) return load(directory, options);
  try {
    return await load(directory, { engine, ...options });
  } catch (error) {
    if (!isKitError(error) || !NO_PYTHON.has(error.code)) throw error;
    const install = kitCommand(project, "python install");
    const model = await load(directory, options).catch((here: unknown) => {
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
