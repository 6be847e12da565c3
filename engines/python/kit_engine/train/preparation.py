"""Everything that is ready before the first step."""

from dataclasses import dataclass
from typing import Any

from ..data.dataset import TrainingData, read_training_data
from ..data.inspection import Inspection
from ..data.objective import Objective
from ..data.template_date import set_template_date
from ..model.models import Source, context_of, load_config, load_tokenizer, set_padding
from ..process.channel import Channel
from ..process.constants import CONSTANTS
from ..process.device import Device, find_device
from ..process.errors import KitError
from .schedule import rows_per_step, step_count


@dataclass
class Preparation:
    config: dict[str, Any]
    device: Device
    source: Source
    model_config: Any
    tokenizer: Any
    data: TrainingData
    # Maximum length of a row, in tokens.
    max_length: int
    # Total optimizer steps.
    steps: int
    # `repo` and `commit` of a model from the hub.
    hub: dict[str, str] | None
    # The base that the adapter's config names, if not its folder.
    base_name: str | None

    def epochs_at(self, step: int) -> float:
        return step * rows_per_step(self.config) / len(self.data.training)

    def started(self, name: str, parameters: int) -> dict[str, Any]:
        """The data of `training.started`."""
        dataset, training = self.data.dataset, self.data.training
        return {
            "model": name,
            "parameters": parameters,
            "rows": training.rows,
            **self.data.evaluated,
            "cut": dataset.truncated,
            "leftOut": dataset.skipped,
            "maxLength": self.max_length,
            "format": " | ".join(sorted(dataset.formats)),
            "tokens": training.predicted(),
            "fingerprint": self.data.fingerprint,
            "maxSteps": self.steps,
            "epochs": self.epochs_at(self.steps),
            "environment": self.device.record(),
        }

    def skipped_rows(self) -> dict[str, int]:
        """Input of Kit's advice on skipped rows; its keys are Kit's."""
        dataset = self.data.dataset
        return {
            "rows": dataset.examples.row_count,
            "leftOut": dataset.skipped,
            "needed": dataset.longest_skipped,
            "context": context_of(self.model_config),
        }


def prepare(
    job: dict[str, Any],
    objective: Objective,
    channel: Channel,
    inspection: Inspection | None = None,
) -> Preparation:
    config = job["config"]
    device = find_device(config["engine"].get("bf16"))
    channel.note(device.description())
    source = Source(**job["model"])
    model_config = load_config(source)
    tokenizer = load_tokenizer(source)
    set_template_date(tokenizer, job)
    limit = row_limit(job, context_of(model_config))
    data = read_training_data(job, objective, tokenizer, limit, channel.note, inspection)
    if tokenizer.chat_template is None and data.dataset.formats != {"{text}"}:
        channel.note(CONSTANTS["withoutTemplate"])
    set_padding(tokenizer)
    set_prompt_style(tokenizer, data)
    steps = step_count(config, len(data.training))
    base = job.get("hub"), job.get("baseName")
    return Preparation(config, device, source, model_config, tokenizer, data, limit, steps, *base)


# Default for pretrained models, whose context may be 100 times as long.
DEFAULT_MAX_LENGTH = CONSTANTS["defaultMaxLength"]


def row_limit(job: dict[str, Any], context: int) -> int:
    max_length = job["config"].get("maxLength")
    if max_length is None:
        return min(context, DEFAULT_MAX_LENGTH) if job["isPretrained"] else context
    if max_length <= context:
        return max_length
    raise KitError(
        "CONFIG_INVALID",
        f'"maxLength" must be at most the model\'s context of {context} tokens, '
        f"but is {max_length}.",
    )


def set_prompt_style(tokenizer: Any, data: TrainingData) -> None:
    """Sets how the model reads a bare prompt, for tokenizer_config.json."""
    is_text = data.dataset.texts * 2 > data.dataset.read
    tokenizer.init_kwargs["prompt_style"] = "text" if is_text else "message"
