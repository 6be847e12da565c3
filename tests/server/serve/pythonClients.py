"""Asks kit serve for responses with Python's own clients, and prints what they say as JSON."""

import json
import sys

import litellm
from openai import BadRequestError, OpenAI
from pydantic import BaseModel

BASE_URL = sys.argv[1]
LOOK = {
    "type": "function",
    "name": "look",
    "parameters": {"properties": {"at": {"enum": ["here", "there"]}}, "required": ["at"]},
}
CALLED = {"tools": [LOOK], "tool_choice": "required", "parallel_tool_calls": False}
SHORT = {"input": "1", "max_output_tokens": 16}


class Answer(BaseModel):
    kind: bool


# Strict: the package checks every field of a response and of an event.
client = OpenAI(base_url=BASE_URL, api_key="none", _strict_response_validation=True)
ask = client.responses
logprobs = {"include": ["message.output_text.logprobs"], "top_logprobs": 2}
whole = ask.create(model="tools", **SHORT, **logprobs)
events = list(ask.create(model="tools", **SHORT, **logprobs, stream=True))
asked = [{"role": "user", "content": "Look!"}]
call = ask.create(model="tools", input=asked, **CALLED).output[0]
with ask.stream(model="tools", input=asked, **CALLED) as stream:
    streamed = stream.until_done().get_final_response().output[0]
output = {"type": "function_call_output", "call_id": call.call_id, "output": "Nothing."}
last = ask.create(model="tools", input=[*asked, call, output], max_output_tokens=16)
parsed = ask.parse(model="tools", input="7", text_format=Answer).output_parsed
try:
    ask.create(model="tools", input="1", previous_response_id="resp_1")
    refused = None
except BadRequestError as error:
    refused = error.param

through = {"model": "openai/tools", "api_base": BASE_URL, "api_key": "none"}
lite = litellm.responses(**SHORT, **through)
lite_stream = litellm.responses(**SHORT, **through, stream=True)
lite_text = "".join(getattr(event, "delta", "") for event in lite_stream)
lite_call = litellm.responses(input="Look!", **CALLED, **through).output[0]

print(
    json.dumps(
        {
            "texts": [
                whole.output_text,
                "".join(event.delta for event in events if hasattr(event, "delta")),
                events[-1].response.output_text,
                lite.output[0].content[0].text,
                lite_text,
            ],
            "calls": [one.arguments for one in (call, streamed, lite_call)],
            "answered": last.usage.input_tokens > 0 and last.output_text != "",
            "parsed": parsed.model_dump(),
            "refused": refused,
        }
    )
)
