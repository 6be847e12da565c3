import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import type { EventData } from "../../../protocol/event.ts";

/** `trainer_state.json` with the names of `transformers`' TrainerState. */
export function trainerState(
  config: TrainConfig,
  logs: EventData["training.log"][],
  at: { step: number; maxSteps: number; epoch: number; epochs: number; tokens: number },
) {
  return {
    best_global_step: null,
    best_metric: null,
    best_model_checkpoint: null,
    epoch: at.epoch,
    eval_steps: null,
    global_step: at.step,
    is_hyper_param_search: false,
    is_local_process_zero: true,
    is_world_process_zero: true,
    log_history: logs.map((log) => ({
      epoch: log.epoch,
      grad_norm: log.gradNorm,
      learning_rate: log.learningRate,
      loss: log.loss,
      step: log.step,
    })),
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
