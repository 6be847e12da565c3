import { bestOf } from "../../protocol/evaluation.ts";
import type { EventData } from "../../protocol/event.ts";
import type { TrainConfig } from "../../protocol/trainConfig.ts";
import { KIT, attributesOf } from "../checkpoint/stateFile.ts";
import type { PendingSteps } from "./stepLog.ts";

type Log = EventData["training.log"];

/** Where a training is. */
export interface TrainerPlace {
  step: number;
  maxSteps: number;
  epoch: number;
  epochs: number;
  /** Tokens learned from so far. */
  tokens: number;
  /** The steps since the last log. */
  pending: PendingSteps;
  /** Commit of the model on the hub, if it came from there. */
  commit?: string | undefined;
}

/** `trainer_state.json` with the names of `transformers`' TrainerState. */
export function trainerState(config: TrainConfig, logs: Log[], at: TrainerPlace) {
  const best = bestOf(logs);
  const { pending, commit } = at;
  const attributes = { ...pending, ...(commit !== undefined && { model: config.model, commit }) };
  return {
    best_global_step: best?.step ?? null,
    best_metric: best?.evalLoss ?? null,
    best_model_checkpoint: null,
    epoch: at.epoch,
    eval_steps: isEvaluated(config) ? config.evalSteps : null,
    global_step: at.step,
    is_hyper_param_search: false,
    is_local_process_zero: true,
    is_world_process_zero: true,
    log_history: logs.flatMap(historyOf),
    logging_steps: config.loggingSteps,
    max_steps: at.maxSteps,
    num_input_tokens_seen: at.tokens,
    num_train_epochs: Math.ceil(at.epochs),
    save_steps: config.saveSteps,
    stateful_callbacks: { [KIT]: { args: {}, attributes } },
    total_flos: 0,
    train_batch_size: config.batchSize,
    trial_name: null,
    trial_params: null,
  };
}

/** As the Trainer keeps them: an evaluation is an entry of its own. */
function historyOf(log: Log): object[] {
  const { step, epoch, evalLoss } = log;
  const trained = {
    epoch,
    grad_norm: log.gradNorm,
    learning_rate: log.learningRate,
    loss: log.loss,
    step,
    ...(log.metrics && { metrics: log.metrics }),
  };
  return evalLoss === undefined ? [trained] : [trained, { epoch, eval_loss: evalLoss, step }];
}

function isEvaluated({ evalDataset, evalSplit }: TrainConfig): boolean {
  return evalDataset !== undefined || evalSplit !== undefined;
}

/** Where a training resumes, from its `trainer_state.json`; undefined if it isn't one of ours. */
export function placeOf(
  state: Record<string, unknown>,
): (Pick<TrainerPlace, "step" | "tokens" | "pending"> & { logs: Log[] }) | undefined {
  const { global_step: step, num_input_tokens_seen: tokens, log_history: history } = state;
  const { losses, metrics = {} } = attributesOf(state);
  if (typeof step !== "number" || typeof tokens !== "number" || !Array.isArray(history)) return;
  if (!Array.isArray(losses)) return;
  return {
    step,
    tokens,
    pending: { losses: losses as number[], metrics: metrics as PendingSteps["metrics"] },
    logs: logsOf(history as Record<string, number>[]),
  };
}

/** The inverse of `historyOf`. */
function logsOf(history: Record<string, number>[]): Log[] {
  const isEvaluation = (entry: Record<string, number>) => "eval_loss" in entry;
  const evalLosses = new Map(
    history.filter(isEvaluation).map(({ step, eval_loss: evalLoss }) => [step, evalLoss]),
  );
  const trained = history.filter((entry) => !isEvaluation(entry));
  return trained.map((entry) => {
    const { step = 0, epoch, loss, learning_rate: learningRate, grad_norm: gradNorm } = entry;
    const { metrics } = entry as Pick<Log, "metrics">;
    const evalLoss = evalLosses.get(step);
    const evaluated = evalLosses.has(step) && { evalLoss };
    return { step, epoch, loss, learningRate, gradNorm, ...evaluated, ...(metrics && { metrics }) };
  });
}
