"""Writes parts.json: small tokenizers of random parts, adversarial texts, and what tokenizers makes
of them. parts.test.ts has Kit do the same.

Usage: python parts.py [how many] [seed] > parts.json
"""

import hashlib
import json
import random
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers
from tokenizers import pre_tokenizers, processors

TEXTS = 12
FRAGMENTS = [
    *["the", " the", "The", " fox", "ing", " ", "  ", "\n", "\n\n", "\t", " \n", "\r\n", ".", ","],
    *[
        "?",
        "'s",
        "n't",
        " 's",
        " ' ",
        " .",
        " do not",
        '"',
        "0",
        "42",
        " 1998",
        "²",
        "½",
        "٣٤",
        "Ⅻ",
    ],
    *["é", "e\u0301", "ß", "Σ", "ΑΣ", "İ", "日本", "שלום", "🧪", "👩\u200d🚀", "\u00a0", "\u200b"],
    *[
        "\u0085",
        "\u2028",
        "\ufeff",
        "\u0001",
        "\ufffd",
        "-",
        "—",
        "_",
        "{",
        "<",
        "<s>",
        "</s>",
        "[A]",
    ],
    *[
        "<t>",
        "<T>",
        "tok",
        "TOK",
        "x",
        "▁",
        "##",
        "</w>",
        "Ġ",
        "ﬁ",
        "가",
        "<0x41>",
        "$&",
        "ſ",
        "'ſ",
    ],
    *["~", "\ue000", "𝒳", "𠀀", "a\u0301\u0327", "\u1100\u1161", "I'LL"],
]
CONTENTS = [
    "tok",
    "<t>",
    "[A]",
    "<s>",
    "the",
    "a",
    " x",
    "\n",
    "  ",
    "é",
    "▁",
    "日",
    "Σ",
    "<T>",
    "42",
]
PATTERNS = [
    *[r"\s+", r"\p{L}+", r"\p{N}{1,3}", r"\w+|[^\w\s]+", r"[\r\n]", r" {2,}", r"a*", r"\s+$", r"."],
    *[r"[^\S\n]+", r"\A\s|\Z", r"(?<=\d)(?=(\d{3})+\b)", r"\p{Han}+", r"[一-龥\u3040-ゟ]+"],
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    r" ?[^(\s|[.,!?…。，、।۔،])]+",
]
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]


class Maker:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def flag(self, chance: float = 0.5) -> bool:
        return self.random.random() < chance

    def one(self, *values):
        return self.random.choice(values)

    def text(self, most: int = 12) -> str:
        return "".join(self.one(*FRAGMENTS) for _ in range(self.random.randint(0, most)))

    def pattern(self):
        return (
            self.one(" ", "\n", "the", "▁", "'") if self.flag(0.4) else Regex(self.one(*PATTERNS))
        )

    def normalizer(self, depth: int = 0):
        makers = [
            *[normalizers.NFC, normalizers.NFD, normalizers.NFKC, normalizers.NFKD],
            *[normalizers.Lowercase, normalizers.StripAccents],
            lambda: normalizers.Replace(self.pattern(), self.one("", "▁", "$&", "ab")),
            lambda: normalizers.Replace(" ", "▁"),
            lambda: normalizers.Prepend(self.one("▁", " ", "ab")),
            lambda: normalizers.Strip(self.flag(), self.flag()),
        ]
        if depth == 0:
            makers.append(normalizers.ByteLevel)
        if depth < 2:
            makers += [lambda: self.sequence(normalizers.Sequence, self.normalizer, depth)] * 3
        return self.one(*makers)()

    def pre_tokenizer(self, depth: int = 0):
        pre = pre_tokenizers
        makers = [
            *[pre.Whitespace, pre.WhitespaceSplit],
            lambda: pre.ByteLevel(self.flag(), self.flag(), self.flag()),
            *[lambda: pre.Metaspace("▁", self.one("always", "first", "never"), self.flag())] * 2,
            *[lambda: pre.Split(self.pattern(), self.one(*BEHAVIORS), self.flag(0.3))] * 3,
            lambda: pre.Digits(self.flag()),
            lambda: pre.Punctuation(self.one(*BEHAVIORS)),
        ]
        if depth < 2:
            makers += [lambda: self.sequence(pre.Sequence, self.pre_tokenizer, depth)] * 3
        return self.one(*makers)()

    def decoder(self, depth: int = 0):
        makers = [
            *[decoders.ByteLevel, decoders.ByteFallback, decoders.Fuse],
            lambda: decoders.Strip(self.one(" ", "▁"), self.random.randint(0, 2), 0),
            lambda: decoders.Replace(self.pattern(), self.one("", " ", "$&")),
            lambda: decoders.Metaspace("▁", self.one("always", "first", "never")),
            lambda: decoders.WordPiece("##", self.flag()),
        ]
        if depth < 1:
            makers += [lambda: self.sequence(decoders.Sequence, self.decoder, depth)] * 3
        return self.one(*makers)()

    def sequence(self, kind, make, depth: int):
        return kind([make(depth + 1) for _ in range(self.random.randint(1, 3))])

    def bpe(self, pieces: list[str]):
        falls_back, unknown = self.flag(0.3), self.flag()
        vocab = ["<unk>"] if unknown else []
        vocab += [f"<0x{byte:02X}>" for byte in range(256)] if falls_back else []
        words = []
        for piece in pieces:
            word = list(piece)
            words.append(word)
            vocab += [c for c in word if self.flag(0.9)]
        merges = []
        for _ in range(40):
            word = self.one(*words)
            at = self.random.randrange(len(word))
            pair = tuple(word[at : at + 2])
            if len(pair) == 2 and all(part in vocab for part in pair) and pair not in merges:
                merged = "".join(pair)
                vocab.append(merged)
                merges.append(pair)
                word[at : at + 2] = [merged]
        options = {"unk_token": "<unk>"} if unknown else {}
        return models.BPE(
            vocab={token: i for i, token in enumerate(dict.fromkeys(vocab))},
            merges=merges,
            byte_fallback=falls_back,
            fuse_unk=self.flag(),
            ignore_merges=self.flag(0.3),
            **options,
        )

    def parts(self, pieces: list[str], prefix: str = "") -> list[str]:
        found = ["<unk>"]
        for piece in pieces:
            for _ in range(3):
                start = self.random.randrange(len(piece))
                part = piece[start : start + self.random.randint(1, 4)]
                found.append((prefix if start else "") + part)
        return list(dict.fromkeys(found))

    def model(self, pieces: list[str]):
        kind = self.one("bpe", "bpe", "bpe", "unigram", "pieces")
        if kind == "bpe":
            return self.bpe(pieces)
        if kind == "unigram":
            bytes_ = [f"<0x{byte:02X}>" for byte in range(256)] if self.flag(0.3) else []
            tokens = [*self.parts(pieces), *bytes_]
            scores = [(token, -round(self.random.random() * 10, 1)) for token in tokens]
            return models.Unigram(scores, 0, bool(bytes_))
        vocab = {token: i for i, token in enumerate(self.parts(pieces, "##"))}
        return models.WordPiece(vocab, unk_token="<unk>", max_input_chars_per_word=self.one(5, 100))

    def post_processor(self, t: Tokenizer):
        known = [(one, t.token_to_id(one)) for one in ("<s>", "</s>", "<unk>")]
        known = [one for one in known if one[1] is not None]
        if len(known) < 2:
            return processors.ByteLevel(trim_offsets=self.flag())
        (a, b) = self.random.sample(known, 2)
        several = {"id": b[0], "ids": [1, 2, 3], "tokens": ["x", "y", "z"]}
        text = f"{a[0]} $A {b[0]}"
        return self.one(
            processors.TemplateProcessing(text, f"{text} $B", [a, b]),
            processors.TemplateProcessing(text, f"{text} $B", [a, several]),
            processors.Sequence(
                [processors.ByteLevel(), processors.TemplateProcessing(text, f"{text} $B", [a, b])]
            ),
        )

    def added(self) -> list[AddedToken]:
        return [
            AddedToken(
                self.one(*CONTENTS, "</s>"),
                single_word=self.flag(0.25),
                lstrip=self.flag(0.3),
                rstrip=self.flag(0.3),
                normalized=self.flag(),
                special=self.flag(),
            )
            for _ in range(self.random.randint(0, 7))
        ]

    def tokenizer(self) -> Tokenizer:
        normalizer = self.normalizer() if self.flag(0.6) else None
        pre_tokenizer = self.pre_tokenizer() if self.flag(0.75) else None
        pieces: list[str] = []
        for _ in range(14):
            text = self.text()
            text = normalizer.normalize_str(text) if normalizer else text
            split = pre_tokenizer.pre_tokenize_str(text) if pre_tokenizer else [(text, None)]
            pieces += [piece for piece, _ in split if piece]
        t = Tokenizer(self.model(pieces))
        if normalizer:
            t.normalizer = normalizer
        if pre_tokenizer:
            t.pre_tokenizer = pre_tokenizer
        t.add_tokens(self.added())
        if self.flag():
            t.post_processor = self.post_processor(t)
        if self.flag(0.85):
            t.decoder = self.decoder()
        return t


def rows_of(maker: Maker, t: Tokenizer) -> tuple[list[str], list]:
    """Texts with added tokens in them, and the ids of each, and its text again."""
    contents = [token.content for token in t.get_added_tokens_decoder().values()] or [""]
    texts, rows = [], []
    for _ in range(TEXTS):
        text = maker.text()
        for _ in range(maker.random.randint(0, 3)):
            at = maker.random.randint(0, len(text))
            text = text[:at] + maker.one(*contents) + text[at:]
        whole = t.encode(text).ids
        bare = t.encode(text, add_special_tokens=False).ids
        texts.append(text)
        rows.append([whole, bare, t.decode(whole), t.decode(whole, skip_special_tokens=False)])
    return texts, rows


def main(count: int = 60, seed: int = 44) -> None:
    maker, cases = Maker(seed), []
    while len(cases) < count:
        try:
            t = Tokenizer.from_str(maker.tokenizer().to_str())
            texts, rows = rows_of(maker, t)
        except BaseException as error:  # noqa: BLE001 - tokenizers panics on some
            if isinstance(error, KeyboardInterrupt):
                raise
            continue
        text = json.dumps(rows, separators=(",", ":"), ensure_ascii=False)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        cases.append({"tokenizer": json.loads(t.to_str()), "texts": texts, "rows": digest})
    print(json.dumps(cases, ensure_ascii=False))


if __name__ == "__main__":
    main(*[int(one) for one in sys.argv[1:]])
