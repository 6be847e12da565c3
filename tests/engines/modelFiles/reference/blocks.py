"""Makes blocks.json: awkward numbers, and what gguf-py quantizes and dequantizes them to.

Needs the package gguf (0.19.0 made the file).
"""

import base64
import json
import pathlib

import numpy as np
from gguf import GGMLQuantizationType, quants

BLOCK = 32
SIZES = [1, 1e-3, 3e-3, 7e-6, 5e-6, 3e-6, 1e-8, 1e-20, 1e-36, 1e-38, 1e-44, 1e6, 6e4 * 127]

random = np.random.default_rng(1)
ramp = np.arange(BLOCK)


def block(numbers):
    """Zeros but for the numbers that lie at these places."""
    made = np.zeros(BLOCK)
    for place, number in numbers.items():
        made[place] = number
    return made


blocks = [
    block({}),
    -block({}),
    block({7: 1e-45}),
    block({7: -3e38, 8: 3e38}),
    # Halves, of which a scale of 1 leaves ties.
    np.where(ramp == 3, 127, ramp - 15.5),
    np.where(ramp == 3, -127, ramp - 15.5),
    np.where(ramp == 31, -8, ramp / 4 - 4 + 0.125),
    np.where(ramp == 31, 8, ramp / 4 - 3.5),
    block({0: 127, 1: 0.49999997, 2: 0.5, 3: 1.5, 4: -2.5, 31: -0.49999997}),
    # Two numbers of the greatest size: the first one counts.
    block({5: 4, 20: -4, 21: 1}),
    block({5: -4, 20: 4, 21: 1}),
    *[random.standard_normal(BLOCK) * size for size in SIZES],
    *[random.standard_normal(BLOCK) * 0.04 for _ in range(8)],
]


def text(array):
    return base64.b64encode(array.tobytes()).decode()


numbers = np.concatenate(blocks).astype(np.float32)
file = {"numbers": text(numbers)}
with np.errstate(all="ignore"):
    for name in ("q8_0", "q4_0", "q5_0"):
        kind = GGMLQuantizationType[name.upper()]
        stored = quants.quantize(numbers, kind)
        file[name] = {
            "blocks": text(stored),
            "numbers": text(quants.dequantize(stored, kind).astype(np.float32)),
        }
    # gguf-py only reads these: blocks of any bytes, with scales that are numbers.
    for name, size, scales in (("q4_k", 144, (0, 2)), ("q6_k", 210, (208,))):
        stored = random.integers(0, 256, (16, size), dtype=np.uint8)
        for at in scales:
            halves = (random.standard_normal(16) / 100).astype(np.float16)
            stored[:, at : at + 2] = halves.view(np.uint8).reshape(16, 2)
        kind = GGMLQuantizationType[name.upper()]
        numbers = quants.dequantize(stored, kind).astype(np.float32)
        file[name] = {"blocks": text(stored), "numbers": text(numbers)}
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(file, indent=2) + "\n")
