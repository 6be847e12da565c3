"""Decodes an answer's tokens."""

import codecs
import re
from typing import Any

from ..process.limits import decode

# SentencePiece's byte-fallback token.
BYTE = re.compile("<0x[0-9A-F]{2}>")
# SentencePiece's space.
SPACE = "\u2581"


# Decoders whose output for a token depends on others.
MULTI_TOKEN_DECODERS = ("WordPiece", "BPEDecoder", "CTC")


class TokenBytes:
    """The UTF-8 bytes that a token adds to an answer. A special token adds its own text."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.added = tokenizer.added_tokens_decoder
        backend = getattr(tokenizer, "backend_tokenizer", None)
        decoder = str(backend.decoder) if backend else ""
        depends_on_others = any(kind in decoder for kind in MULTI_TOKEN_DECODERS)
        self.is_context_free = bool(decoder) and not depends_on_others
        self.is_byte_level = "ByteLevel" in decoder
        # Without a decoder, the library joins tokens with spaces.
        self.joins_with_spaces = decoder == "None"
        # Whether an answer drops its first token's leading space.
        self.drops_space = (
            self.joins_with_spaces
            or not self.is_context_free
            or any(kind in decoder for kind in ("Metaspace", "Strip"))
        )
        self.byte_of = {character: byte for byte, character in enumerate(byte_characters())}

    def of(self, token: int) -> bytes:
        if token in self.added:
            return str(self.added[token].content).encode()
        if not self.is_context_free:
            # What it adds after another token, here itself.
            before = self._decoded([token])
            return self._decoded([token, token])[len(before) :].encode()
        text = self.tokenizer.convert_ids_to_tokens(token) or ""
        if self.is_byte_level:
            return bytes(self.byte_of.get(character, 0x3F) for character in text)
        if BYTE.fullmatch(text):
            return bytes([int(text[3:5], 16)])
        return (f" {text}" if self.joins_with_spaces else text.replace(SPACE, " ")).encode()

    def _decoded(self, ids: list[int]) -> str:
        return decode(ids, self.tokenizer, clean_up_tokenization_spaces=False)


class AnswerText:
    """Decodes an answer token by token, never splitting a character. Malformed bytes become U+FFFD;
    an incomplete character at the end is dropped."""

    def __init__(self, token_bytes: TokenBytes) -> None:
        self.token_bytes = token_bytes
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.has_started = not token_bytes.drops_space

    def push(self, token: int) -> str:
        """The text that a token completes."""
        text = self.decoder.decode(self.token_bytes.of(token))
        if self.has_started or not text:
            return text
        self.has_started = True
        return text.removeprefix(" ")


def byte_characters() -> list[str]:
    """The character of each byte in byte-level vocabularies."""
    characters, remapped = [], 0
    for byte in range(256):
        if 0x21 <= byte <= 0x7E or (byte >= 0xA1 and byte != 0xAD):
            characters.append(chr(byte))
        else:
            characters.append(chr(0x100 + remapped))
            remapped += 1
    return characters
