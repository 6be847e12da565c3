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
import { type LineRequest, JSON_ANSWERS, PLAIN, ROWS } from "../infer/lineRequest.ts";
import { isInteractive } from "../infer/lines.ts";
import { EXIT_CODE } from "../process/exitCode.ts";
import { abortOnSignal, exitCancelled } from "../process/signals.ts";
import { enterProject } from "../project/folder.ts";
import { modelProject } from "../project/modelProject.ts";
import { reportError } from "../terminal/errors.ts";
import { openJsonLines } from "../terminal/json.ts";
import { print, printError, printInline } from "../terminal/print.ts";

/**
 * Answers a prompt, or each line of stdin, with a trained model. Prints only answers to stdout.
 * @throws KitError `USAGE_INVALID`, `JOB_NOT_FOUND`, `CHECKPOINT_INVALID`, `REQUEST_INVALID`
 */
export const command = createCommand("infer", {
  'kit infer latest "7th of March 1998"': "prompt the newest job's model",
  "kit infer latest < questions.txt": "answer each line",
  "kit infer latest --jsonl < rows.jsonl": "add an answer to each row",
})
  .argument(
    "<model>",
    'a job id or its prefix, "latest", "base", a checkpoint folder, a .gguf file, or org/name',
  )
  .argument("[prompt]", "the prompt; omit it to answer each line of stdin")
  .option("--jsonl", "read dataset rows; print each with its answer")
  .option("--json", "print each answer as JSON, with its tokens and why it ended")
  .option(
    "--max-tokens <n>",
    "maximum tokens per answer (default: enough for the longest training answer, or 512)",
    parseMaxTokens,
  )
  .option("--temperature <n>", "sampling temperature; 0 is greedy (default: 0)", parseTemperature)
  .option(
    "--top-p <n>",
    "sample from the most likely tokens whose probabilities sum to this (default: 1)",
    parseTopP,
  )
  .option("--seed <n>", "sampling seed (default: 0)", parseSeed)
  .option(
    "--chat-template-kwargs <json>",
    'variables of the model\'s chat template, such as {"enable_thinking":false}',
    parseKwargs,
  )
  .addOption(quantizeOption())
  .addOption(projectOption())
  .action(async (modelName, prompt, inferOptions) => {
    const { project: folder, jsonl = false, json = false, quantize, ...options } = inferOptions;
    const show = json ? openJsonLines().printText : printAnswer;
    if (prompt !== undefined && jsonl) {
      throw new KitError(
        "USAGE_INVALID",
        "--jsonl reads rows from stdin. Pass a prompt or --jsonl, not both.",
      );
    }
    if (json && jsonl) {
      throw new KitError("USAGE_INVALID", "--jsonl prints JSON already. Remove --json.");
    }
    const { chatTemplateKwargs, ...samplingOptions } = options;
    // Only answers go to stdout.
    const onNote = (text: string) => printError(printableNote(text));
    const project = modelProject(enterProject(folder), onNote);
    process.stdout.on("error", (error: NodeJS.ErrnoException) => {
      // EPIPE: the reader wants no more, as with `head`. Anything else loses answers.
      process.exit(error.code === "EPIPE" ? EXIT_CODE.completed : EXIT_CODE.failed);
    });
    const reference = findReference(project, modelName);
    const engine = await engineOf(project, reference);
    const signal = engine?.remote && abortOnSignal();
    const answerWith = async (model: LoadedModel) => {
      const limit =
        samplingOptions.maxTokens === undefined ? await answerLimit(project, reference) : undefined;
      const sampling = { maxTokens: limit?.tokens, ...samplingOptions, ...(signal && { signal }) };
      const noteTruncation = createTruncationNote(limit);
      const withOptions = (request: InferRequest): InferRequest => ({
        ...request,
        ...sampling,
        ...(chatTemplateKwargs && {
          chatTemplateKwargs: { ...chatTemplateKwargs, ...request.chatTemplateKwargs },
        }),
      });
      const answer = async ({ request, format }: LineRequest): Promise<string> => {
        const result = await model.infer(withOptions(request));
        noteTruncation(result);
        return format(result);
      };
      const streamAnswer = async ({ request }: LineRequest): Promise<undefined> => {
        const stream = model.stream(withOptions(request));
        for await (const part of stream) printInline(part);
        print("");
        noteTruncation(await stream.result);
      };
      // A terminal gets a stream, a program the whole answer.
      const isStreamed = process.stdout.isTTY && !jsonl && !json;
      if (prompt !== undefined) {
        const request = (json ? JSON_ANSWERS : PLAIN).read(prompt);
        if (isStreamed) await streamAnswer(request);
        else show(await answer(request));
        return EXIT_CODE.completed;
      }
      const format = json ? JSON_ANSWERS : PLAIN;
      return answerLines(jsonl ? ROWS : format, {
        answer: isStreamed && isInteractive() ? streamAnswer : answer,
        show,
        // The project's own engine answers one request at a time.
        maxConcurrent: engine ? 1 : MAX_CONCURRENT,
      });
    };
    // If the engine needs no signal, one that never aborts.
    const abortSignal = signal || new AbortController().signal;
    try {
      const loadOptions = { engine, signal: abortSignal, ...(quantize && { quantize }) };
      const model = await openModel(project, reference, loadOptions);
      try {
        process.exitCode = await orAborted(answerWith(model), abortSignal);
      } finally {
        await closeModel(model, `of ${modelName}`, onNote);
      }
    } catch (error) {
      if (abortSignal.aborted) exitCancelled();
      process.exitCode = reportError(error);
    }
    // The project's code, if it ran, may have left something open.
    if (engine) process.exit();
  });

/** Notes once that the default limit has cut off an answer. */
function createTruncationNote(limit: AnswerLimit | undefined): (result: InferResult) => void {
  let isNoted = false;
  return ({ finishReason, tokens }) => {
    // The context may have run out first.
    if (isNoted || !limit || finishReason !== "length" || tokens < limit.tokens) return;
    isNoted = true;
    const after = [`${limit.tokens} tokens`, ...(limit.reason ? [limit.reason] : [])].join(", ");
    printError(`an answer was cut off after ${after}; for more, raise --max-tokens`);
  };
}

function printAnswer(text: string): void {
  if (process.stdout.isTTY) print(text);
  // A program gets the answer unescaped.
  else process.stdout.write(`${text}\n`);
}
