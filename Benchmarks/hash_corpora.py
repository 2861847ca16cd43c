"""Seeded JSON documents of several shapes and sizes, for Benchmarks/hash.py.

A corpus is a file of documents, parted by the record separator of RFC 7464. Small sizes have many documents, so that
no processor learns one by heart; the largest repeats 1 MB of records.
"""

import json
import random

SEED = 20250
SEPARATOR = "\x1e"
# Name, bytes of a document, documents in the file.
SIZES = [("1 KB", 1_000, 500), ("64 KB", 64_000, 24), ("1 MB", 1_000_000, 2), ("16 MB", 16_000_000, 1)]
_WORDS = (
    "the of and to in is that it was for on are with as his they be at one have this from or had by hot but some "
    "what there we can out other were all your when up use word how said each she which do their time if will way "
    "about many then them would write like so these her long make thing see him two has look more day could go "
    "come did my sound no most number who over know water than call first people may down side been now find").split()
_WIDE = "größe füße naïve café señor город вода время люди 東京 大学 経済 言語 ελλάδα 😀 🚀 ünïcödé résumé пример".split()


def _text(source, low, high, words=_WORDS):
    return " ".join(source.choice(words) for _ in range(source.randint(low, high)))


def _identifier(source):
    return "%08x-%04x-4%03x-a%03x-%012x" % tuple(source.getrandbits(bits) for bits in (32, 16, 12, 12, 48))


def highlights(source):
    """A passage that a reader has marked: strings with some escapes, numbers, a nested place."""
    quote = _text(source, 6, 40)
    if source.random() < 0.3:
        quote = quote.replace(" and ", ' "and" ').replace(" the ", "\nthe ")
    return {
        "id": _identifier(source), "user_id": source.randint(1, 10**7), "book": {
            "isbn": str(source.randint(9780000000000, 9799999999999)), "title": _text(source, 2, 6).title(),
            "chapter": source.randint(1, 40), "progress": round(source.random(), 4)},
        "quote": quote, "note": None if source.random() < 0.6 else _text(source, 3, 15),
        "color": source.choice(["yellow", "green", "blue", "pink"]),
        "range": {"start": source.randint(0, 500_000), "length": source.randint(10, 400)},
        "tags": [source.choice(_WORDS) for _ in range(source.randint(0, 4))],
        "public": source.random() < 0.2, "revision": source.randint(1, 30),
        "created_at": "2025-%02d-%02dT%02d:%02d:%02dZ" % (
            source.randint(1, 12), source.randint(1, 28), source.randint(0, 23), source.randint(0, 59),
            source.randint(0, 59)),
    }


def text(source):
    """Prose in many scripts."""
    return {
        "author": _text(source, 2, 2, _WIDE), "language": source.choice(["en", "de", "ru", "ja"]),
        "summary": _text(source, 10, 30, _WORDS + _WIDE), "body": _text(source, 40, 150, _WORDS * 2 + _WIDE),
        "comments": [_text(source, 4, 20, _WORDS * 4 + _WIDE) for _ in range(source.randint(0, 3))],
    }


def numbers(source):
    """Measurements."""
    return {
        "at": source.randint(1_600_000_000_000, 1_800_000_000_000), "sensor": source.randint(1, 5000),
        "position": [round(source.uniform(-180, 180), 6), round(source.uniform(-90, 90), 6)],
        "values": [source.choice([
            source.randint(-100, 10_000), round(source.gauss(20, 9), 2), source.random(), source.random() * 1e-9])
            for _ in range(12)],
    }


def nested(source, depth=0):
    """Small objects inside small objects."""
    if depth >= 9 or (depth > 2 and source.random() < 0.3):
        return {"v": source.randint(0, 99), "on": source.random() < 0.5}
    inner = {"k": source.choice(_WORDS), "next": nested(source, depth + 1)}
    if source.random() < 0.4:
        inner["more"] = [nested(source, depth + 3)]
    return inner


SHAPES = {"highlights": highlights, "text": text, "numbers": numbers, "nested": nested}


def _document(source, shape, size, pretty):
    options = {"ensure_ascii": False, "indent": 2} if pretty else {"ensure_ascii": False, "separators": (",", ":")}
    separator = ",\n" if pretty else ","
    pool, length = [], 0
    while length < min(size, 1_000_000):
        # One element of an array, so that its indentation is what it will be.
        text = json.dumps([SHAPES[shape](source)], **options)[1:-1].strip("\n")
        if pool and length + len(text.encode()) > size * 1.2:
            break
        pool.append(text)
        length += len(text.encode()) + len(separator)
    copies = max(1, size // 1_000_000)
    body = separator.join(pool * copies)
    return f"[\n{body}\n]" if pretty else f"[{body}]"


def write(directory):
    """Writes all corpora; returns (shape, form, size, path) of each."""
    corpora = []
    for shape in SHAPES:
        for form in ("pretty", "minified"):
            for size, length, count in SIZES:
                # Both forms of a size hold records from the same source.
                source = random.Random(f"{SEED} {shape} {size}")
                path = directory / f"{shape}-{form}-{size.replace(' ', '')}.json"
                path.write_text(SEPARATOR.join(
                    _document(source, shape, length, form == "pretty") for _ in range(count)), encoding="utf-8")
                corpora.append((shape, form, size, path))
    return corpora
