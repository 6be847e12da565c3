"""The text of an answer's tokens."""

import codecs
from typing import Any

from .limits import decode


def text_of(ids: list[int], tokenizer: Any) -> str:
    """Malformed bytes become U+FFFD; a character that is cut off at the end is dropped."""
    text = decode(ids, tokenizer, skip_special_tokens=True)
    if not text.endswith("\ufffd"):
        return text
    if "ByteLevel" not in str(tokenizer.backend_tokenizer.decoder):
        return text.removesuffix("\ufffd")
    byte_of = {character: byte for byte, character in enumerate(byte_characters())}
    special = tokenizer.added_tokens_decoder
    spoken = [one for one in ids if one not in special or not special[one].special]
    content = bytearray()
    for token in tokenizer.convert_ids_to_tokens(spoken):
        if all(character in byte_of for character in token):
            content += bytes(byte_of[character] for character in token)
        else:
            content += token.encode()
    return codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(content))


def byte_characters() -> list[str]:
    """The character that stands for each byte in byte-level vocabularies."""
    characters, hidden = [], 0
    for byte in range(256):
        if 0x21 <= byte <= 0x7E or (byte >= 0xA1 and byte != 0xAD):
            characters.append(chr(byte))
        else:
            characters.append(chr(0x100 + hidden))
            hidden += 1
    return characters
