import type { LoadedModel } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";
import type { InferRequest, InferResult } from "../../protocol/infer.ts";
import { printableNote } from "../../protocol/printable.ts";
import { closeModel } from "../../sdk/models/engineModel.ts";
import { engineOf, openModel } from "../../sdk/models/open.ts";
import { findReference } from "../../sdk/models/reference.ts";
import { orAborted } from "../../sdk/projectCode.ts";
import {
  createCommand,
  parseKwargs,
  parseMaxTokens,
  parseSeed,
  parseTemperature,
  parseTopP,
  projectOption,
  quantizeOption,
} from "../command.ts";
import { type AnswerLimit, answerLimit } from "../infer/answerLimit.ts";
import { MAX_CONCURRENT, answerLines } from "../infer/answerLines.ts";
import { isTyped } from "../infer/lines.ts";
import { type Question, PLAIN, ROWS, plainQuestion } from "../infer/question.ts";
import { EXIT_CODE } from "../process/exitCode.ts";
import { abortOnSignal, exitCancelled } from "../process/signals.ts";
import { enterProject } from "../project/folder.ts";
import { modelProject } from "../project/modelProject.ts";
import { reportError } from "../terminal/errors.ts";
import { print, printError, printPart } from "../terminal/print.ts";

/**
 * Answers a prompt, or each line of stdin, with a trained model. stdout has the answers alone.
 * @throws KitError `USAGE_INVALID`, `JOB_NOT_FOUND`, `CHECKPOINT_INVALID`, `REQUEST_INVALID`
 */
export const command = createCommand("infer", {
  'kit infer latest "7th of March 1998"': "ask the newest job's model",
  "kit infer latest < questions.txt": "answer each line",
  "kit infer latest --jsonl < rows.jsonl": "add an answer to each row",
})
  .argument(
    "<model>",
    'a job id or its prefix, "latest", "base", a checkpoint folder, a .gguf file, or org/name',
  )
  .argument("[prompt]", "the prompt; omit it to answer each line of stdin")
  .option("--jsonl", "read dataset rows; print each with its answer")
  .option(
    "--max-tokens <n>",
    "maximum tokens per answer (default: what the longest learned answer needs, or 512)",
    parseMaxTokens,
  )
  .option("--temperature <n>", "0 always takes the likeliest token (default: 0)", parseTemperature)
  .option(
    "--top-p <n>",
    "sample from the likeliest tokens whose probabilities add up to this (default: 1)",
    parseTopP,
  )
  .option("--seed <n>", "seed of the sampling (default: 0)", parseSeed)
  .option(
    "--chat-template-kwargs <json>",
    'variables of the model\'s chat template, such as {"enable_thinking":false}',
    parseKwargs,
  )
  .addOption(quantizeOption())
  .addOption(projectOption())
  .action(async (named, prompt, { project: folder, jsonl = false, quantize, ...options }) => {
    if (prompt !== undefined && jsonl) {
      throw new KitError(
        "USAGE_INVALID",
        "--jsonl reads rows from stdin. Pass a prompt or --jsonl, not both.",
      );
    }
    const { chatTemplateKwargs, ...given } = options;
    // stdout has the answers alone.
    const onNote = (text: string) => printError(printableNote(text));
    const project = modelProject(enterProject(folder), onNote);
    process.stdout.on("error", (error: NodeJS.ErrnoException) => {
      // Nobody reads the other answers, as behind `head`, or they are lost.
      process.exit(error.code === "EPIPE" ? EXIT_CODE.completed : EXIT_CODE.failed);
    });
    const reference = findReference(project, named);
    const engine = await engineOf(project, reference);
    const signal = engine?.remote && abortOnSignal();
    const ask = async (model: LoadedModel) => {
      const limit =
        given.maxTokens === undefined ? await answerLimit(project, reference) : undefined;
      const sampling = { maxTokens: limit?.tokens, ...given, ...(signal && { signal }) };
      const noteTruncation = createTruncationNote(limit);
      const asked = (request: InferRequest): InferRequest => ({
        ...{ ...request, ...sampling },
        ...(chatTemplateKwargs && {
          chatTemplateKwargs: { ...chatTemplateKwargs, ...request.chatTemplateKwargs },
        }),
      });
      const answer = async ({ request, print }: Question): Promise<string> => {
        const result = await model.infer(asked(request));
        noteTruncation(result);
        return print(result);
      };
      const streamAnswer = async ({ request }: Question): Promise<undefined> => {
        const stream = model.stream(asked(request));
        for await (const part of stream) printPart(part);
        print("");
        noteTruncation(await stream.result);
      };
      // A person reads along; a program gets the answer whole.
      const isInteractive = process.stdout.isTTY && !jsonl;
      if (prompt !== undefined) {
        const question = plainQuestion(prompt);
        if (isInteractive) await streamAnswer(question);
        else show(await answer(question));
        return EXIT_CODE.completed;
      }
      return answerLines(jsonl ? ROWS : PLAIN, {
        ...{ answer: isInteractive && isTyped() ? streamAnswer : answer, show },
        // An engine of the project's answers one after another.
        maxConcurrent: engine ? 1 : MAX_CONCURRENT,
      });
    };
    // No question fails while it waits for a line.
    const end = signal || new AbortController().signal;
    try {
      const given = { engine, signal: end, ...(quantize && { quantize }) };
      const model = await openModel(project, reference, given);
      try {
        process.exitCode = await orAborted(ask(model), end);
      } finally {
        await closeModel(model, `of ${named}`, onNote);
      }
    } catch (error) {
      if (end.aborted) exitCancelled();
      process.exitCode = reportError(error);
    }
    // The project's code, if it ran, may have left something open.
    if (engine) process.exit();
  });

/** Says once that the default limit has cut an answer. */
function createTruncationNote(limit: AnswerLimit | undefined): (result: InferResult) => void {
  let isNoted = false;
  return ({ finishReason, tokens }) => {
    // The context may have run out before.
    if (isNoted || !limit || finishReason !== "length" || tokens < limit.tokens) return;
    isNoted = true;
    const after = [`${limit.tokens} tokens`, ...(limit.reason ? [limit.reason] : [])].join(", ");
    printError(`an answer was cut after ${after}; for more, raise --max-tokens`);
  };
}

function show(text: string): void {
  if (process.stdout.isTTY) print(text);
  // A program gets the answer as it is.
  else process.stdout.write(`${text}\n`);
}
