import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import type { EventData } from "../../../protocol/event.ts";

type Log = EventData["training.log"];

/** `trainer_state.json` with the names of `transformers`' TrainerState. */
export function trainerState(
  config: TrainConfig,
  logs: Log[],
  at: { step: number; maxSteps: number; epoch: number; epochs: number; tokens: number },
) {
  const best = bestOf(logs);
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
    stateful_callbacks: {},
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
  };
  return evalLoss === undefined ? [trained] : [trained, { epoch, eval_loss: evalLoss, step }];
}

/** The log with the lowest `evalLoss`, the first of equals. */
function bestOf(logs: Log[]): Log | undefined {
  const measured = logs.filter(({ evalLoss }) => typeof evalLoss === "number");
  return measured.reduce<Log | undefined>(
    (best, log) => (Number(log.evalLoss) < Number(best?.evalLoss ?? Infinity) ? log : best),
    undefined,
  );
}

function isEvaluated({ evalDataset, evalSplit }: TrainConfig): boolean {
  return evalDataset !== null || evalSplit !== null;
}
