import { cannotWrite } from "../../protocol/cannotWrite.ts";
import { KitError, isKitError, messageOf } from "../../protocol/error.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import { loadModel } from "../../sdk/loadModel.ts";
import { reportError } from "../errors.ts";
import { EXIT_CODE } from "../exitCode.ts";
import { findEngine } from "../infer/findEngine.ts";
import { findModel } from "../infer/findModel.ts";
import { isTyped, stdinLines } from "../infer/lines.ts";
import { type Question, plainQuestion, rowQuestion } from "../infer/question.ts";
import { printable } from "../printable.ts";
import { enterProject } from "../project.ts";

interface InferOptions extends Pick<InferRequest, "maxTokens" | "temperature" | "topP" | "seed"> {
  project: string;
  jsonl?: boolean;
}

/**
 * Answers a prompt, or each line of stdin, with a trained model. stdout has the answers alone.
 * @throws KitError `PROMPT_INVALID`, `JOB_NOT_FOUND`, `CHECKPOINT_INVALID`, `REQUEST_INVALID`
 */
export async function infer(
  named: string,
  prompt: string | undefined,
  { project: folder, jsonl = false, ...sampling }: InferOptions,
): Promise<void> {
  if (prompt !== undefined && jsonl) {
    throw new KitError(
      "PROMPT_INVALID",
      "--jsonl reads rows from stdin. Pass a prompt or --jsonl, not both.",
    );
  }
  const project = enterProject(folder);
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // Nobody reads the other answers, as behind `head`.
    if (error.code === "EPIPE") process.exit(EXIT_CODE.completed);
    process.exit(reportError(cannotWrite("write the answers", error)));
  });
  const directory = findModel(project, named);
  const engine = await findEngine(project, directory);
  const model = await loadModel(directory, { engine });
  const answer = async ({ request, print }: Question) => {
    const { text } = await model.infer({ ...request, ...sampling });
    const printed = print(text);
    console.log(process.stdout.isTTY ? printed.split("\n").map(printable).join("\n") : printed);
  };
  try {
    if (prompt !== undefined) await answer(plainQuestion(prompt));
    else await answerLines(jsonl ? rowQuestion : plainQuestion, answer);
  } finally {
    await model.close();
  }
  // The project's code, if it ran, may have left something open.
  if (engine) process.exit(EXIT_CODE.completed);
}

async function answerLines(
  read: (line: string) => Question,
  answer: (question: Question) => Promise<void>,
): Promise<void> {
  let isEmpty = true;
  for await (const { text, number } of stdinLines()) {
    isEmpty = false;
    try {
      await answer(read(text));
    } catch (error) {
      if (!isKitError(error)) throw error;
      // A person asks again.
      if (isTyped()) reportError(error);
      else throw new KitError(error.code, `line ${number}: ${messageOf(error)}`, { cause: error });
    }
  }
  if (!isEmpty || isTyped()) return;
  throw new KitError(
    "PROMPT_INVALID",
    'No prompt on stdin. Pass one: kit infer latest "7th of March 1998".',
  );
}
