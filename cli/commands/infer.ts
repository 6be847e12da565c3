import { KitError, isKitError } from "../../protocol/error.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import { loadModel } from "../../sdk/loadModel.ts";
import { reportError } from "../errors.ts";
import { EXIT_CODE } from "../exitCode.ts";
import { findEngine } from "../infer/findEngine.ts";
import { findModel } from "../infer/findModel.ts";
import { isTyped, stdinLines } from "../infer/lines.ts";
import { type LineForm, type Question, PLAIN, ROWS, plainQuestion } from "../infer/question.ts";
import { printableLines } from "../printable.ts";
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
    // Nobody reads the other answers, as behind `head`, or they are lost.
    process.exit(error.code === "EPIPE" ? EXIT_CODE.completed : EXIT_CODE.failed);
  });
  const directory = findModel(project, named);
  const engine = await findEngine(project, directory);
  const model = await loadModel(directory, {
    ...(engine && { engine }),
    // stdout has the answers alone.
    onNote: (text) => console.error(text),
  });
  const answer = async ({ request, print }: Question) => {
    const { text } = await model.infer({ ...request, ...sampling });
    show(print(text));
  };
  let code: number = EXIT_CODE.completed;
  try {
    if (prompt !== undefined) await answer(plainQuestion(prompt));
    else code = await answerLines(jsonl ? ROWS : PLAIN, answer);
  } finally {
    await model.close();
  }
  process.exitCode = code;
  // The project's code, if it ran, may have left something open.
  if (engine) process.exit();
}

function show(text: string): void {
  console.log(process.stdout.isTTY ? printableLines(text) : text);
}

/** Answers each line in its place, and goes on after one that cannot be answered. */
async function answerLines(
  { read, blank, failed }: LineForm,
  answer: (question: Question) => Promise<void>,
): Promise<number> {
  let code: number = EXIT_CODE.completed;
  let isEmpty = true;
  for await (const { text, number } of stdinLines()) {
    const isBlank = text.trim() === "";
    isEmpty &&= isBlank;
    try {
      if (!isBlank) await answer(read(text));
      else if (blank !== undefined && !isTyped()) show(blank);
    } catch (error) {
      if (!isKitError(error) || error.code !== "REQUEST_INVALID") throw error;
      // A person sees which one, and asks again.
      if (isTyped()) reportError(error);
      else {
        code = reportError(atLine(number, error));
        show(failed(number, error.message));
      }
    }
  }
  if (!isEmpty || isTyped()) return code;
  throw new KitError(
    "PROMPT_INVALID",
    'No prompt on stdin. Pass one: kit infer latest "7th of March 1998".',
  );
}

function atLine(number: number, { code, message }: KitError): KitError {
  return new KitError(code, `line ${number}: ${message}`);
}
