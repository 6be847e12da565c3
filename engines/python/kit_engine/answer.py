"""Answers from saved checkpoints, one question after another."""

from dataclasses import dataclass
from typing import Any

import torch
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    StoppingCriteria,
    StoppingCriteriaList,
)

from .channel import Channel
from .chat import WITHOUT_TOOLS, Conversation, as_message
from .decoding import text_of
from .device import Device, find_device
from .errors import KitError
from .inbox import Questions
from .limits import encode
from .masks import render
from .models import Source, context_of, load_config, load_model, load_tokenizer, quiet
from .preparation import set_padding


@dataclass
class Loaded:
    model: Any
    tokenizer: Any
    device: Device


class GivenUp(StoppingCriteria):
    """Stops once nobody waits for the answer."""

    def __init__(self, inbox: Questions, question: int) -> None:
        self.inbox = inbox
        self.question = question

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        is_over = self.inbox.cancelled.is_set() or self.question in self.inbox.given_up
        return torch.full((input_ids.shape[0],), is_over, device=input_ids.device)


class Telling(LogitsProcessor):
    """Lets no token be chosen by numbers that are not finite; one that is ruled out has -inf."""

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        found = scores[scores != -torch.inf]
        lowest, highest = found.aminmax()
        # NaN if any is. Numbers that are all the same are what is left of too large ones.
        if not (highest.isfinite() and (lowest < highest or found.numel() == 1)):
            raise KitError(
                "CHECKPOINT_INVALID",
                "The model computes numbers that are not finite: its weights are too large. Use an "
                "earlier checkpoint, or train again with a lower learningRate.",
            )
        return scores


def answer(inbox: Questions, channel: Channel) -> None:
    """Until there are no more, as when Kit is gone."""
    quiet()
    device = find_device(inbox.job.get("bf16"))
    models: dict[int, Loaded] = {}
    for question in inbox:
        number = question["id"]
        try:
            result = work(question, models, inbox, device)
            channel.send("answer", id=number, result=result)
        except Exception as error:  # noqa: BLE001
            channel.send("answer", id=number, failure=inbox.failure(error))
        inbox.given_up.discard(number)


def work(
    question: dict[str, Any], models: dict[int, Loaded], inbox: Questions, device: Device
) -> dict[str, Any] | None:
    name = question["model"]
    if question["type"] == "load":
        models[name] = load(Source(**question["source"]), device)
    elif question["type"] == "unload":
        models.pop(name, None)
    else:
        stop = StoppingCriteriaList([GivenUp(inbox, question["id"])])
        return generate(models[name], question["request"], stop)
    return None


def load(source: Source, device: Device) -> Loaded:
    # Says what is no model to answer from.
    load_config(source)
    tokenizer = load_tokenizer(source)
    set_padding(tokenizer)
    model = load_model(source, device.frozen_dtype()).to(device.name)
    model.eval()
    # Its other settings are of other ways to generate, some of which take hours or code of its own.
    model.generation_config = GenerationConfig(eos_token_id=model.generation_config.eos_token_id)
    return Loaded(model, tokenizer, device)


def generate(loaded: Loaded, request: dict[str, Any], stop: Any) -> dict[str, Any]:
    model, tokenizer = loaded.model, loaded.tokenizer
    prompt = prompt_ids(request, tokenizer)
    context = context_of(model.config)
    room = context - len(prompt)
    if room < 1:
        raise KitError(
            "REQUEST_INVALID",
            f"Shorten the prompt: its {len(prompt)} tokens leave no room for an answer in the "
            f"model's context of {context}.",
        )
    ids = torch.tensor([prompt], device=loaded.device.name)
    ends = end_ids(loaded)
    temperature = request.get("temperature", 0)
    sampling = {"temperature": float(temperature), "top_p": float(request.get("topP", 1))}
    torch.manual_seed(int(request.get("seed", 0)))
    with torch.inference_mode():
        out = model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=min(request.get("maxTokens") or room, room),
            do_sample=temperature > 0,
            **(sampling | {"top_k": 0} if temperature > 0 else {}),
            eos_token_id=sorted(ends),
            pad_token_id=tokenizer.pad_token_id,
            suppress_tokens=unspoken_ids(loaded, ends),
            stopping_criteria=stop,
            logits_processor=LogitsProcessorList([Telling()]),
        )
    answered = out[0, len(prompt) :].tolist()
    is_ended = bool(answered) and answered[-1] in ends
    spoken = answered[:-1] if is_ended else answered
    reason = "stop" if is_ended else "length"
    return {
        "text": text_of(spoken, tokenizer),
        "finishReason": reason,
        "promptTokens": len(prompt),
        "tokens": len(spoken),
    }


def prompt_ids(request: dict[str, Any], tokenizer: Any) -> list[int]:
    messages = request.get("messages")
    if messages is None:
        style = tokenizer.init_kwargs.get("prompt_style", "message")
        if style == "text" or tokenizer.chat_template is None:
            return list(encode(request["prompt"], tokenizer)["input_ids"])
        messages = [{"role": "user", "content": request["prompt"]}]
    conversation = Conversation(
        [as_message(message) for message in messages], request.get("tools") or None
    )
    if tokenizer.chat_template is None:
        if conversation.tools:
            raise KitError("DATASET_INVALID", WITHOUT_TOOLS)
        text = "".join(one["content"] or "" for one in conversation.messages)
        return list(encode(text, tokenizer)["input_ids"])
    # An answer at the end stays open, to be continued.
    last = conversation.messages[-1]
    goes_on = last["role"] == "assistant" and "tool_calls" not in last
    text = render(conversation, tokenizer, opens=not goes_on, goes_on=goes_on)
    return list(encode(text, tokenizer, add_special_tokens=False)["input_ids"])


def end_ids(loaded: Loaded) -> set[int]:
    """Tokens that end an answer: the tokenizer's, and those of the model's generation config."""
    named = loaded.model.generation_config.eos_token_id
    ends = {named} if isinstance(named, int) else set(named or ())
    own = loaded.tokenizer.eos_token_id
    return ends | ({own} if own is not None else set())


def unspoken_ids(loaded: Loaded, ends: set[int]) -> list[int] | None:
    """Specials and numbers without a token, which an answer is not made of."""
    tokenizer = loaded.tokenizer
    specials = {i for i, one in tokenizer.added_tokens_decoder.items() if one.special}
    unused = range(len(tokenizer), loaded.model.config.get_text_config().vocab_size)
    return sorted((specials | set(unused)) - ends) or None
