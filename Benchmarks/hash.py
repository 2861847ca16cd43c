"""Bytes per second of the content hash of JSON, beside simdjson's DOM parse and memcpy of the same documents.

Three programs' rounds alternate over the same files; a round is counted in processor time of its process; medians.
`section()` is the part of a page that a harness may put into docs/performance.md.
"""

import argparse
import pathlib
import statistics
import subprocess
import tempfile

import hash_corpora

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PRETTY_TARGET = 1e9
MINIFIED_TARGET = 0.5


def build(directory):
    """Builds the two programs that are measured."""
    command = [
        "swift", "build", "-c", "release", "--product", "HashBenchmark", "--static-swift-stdlib",
        "-Xswiftc", "-enforce-exclusivity=unchecked"]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    yardsticks = directory / "yardsticks"
    subprocess.run(
        ["g++", "-std=c++17", "-O3", "-o", yardsticks, HERE / "hash" / "simdjson.cc", "-lsimdjson"], check=True)
    return ROOT / ".build" / "release" / "HashBenchmark", yardsticks


class Program:
    """One that answers each line with a number."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def line(self):
        return self.process.stdout.readline().strip()

    def ask(self, question):
        self.process.stdin.write(f"{question}\n")
        self.process.stdin.flush()
        return float(self.line())

    def stop(self):
        self.process.stdin.close()
        self.process.wait(30)


def measure(rounds, shapes=None, sizes=None):
    """(shape, form, size, hash, simdjson, memcpy) of each corpus, bytes per second; and what simdjson runs on."""
    with tempfile.TemporaryDirectory(prefix="cutover-hash-") as name:
        directory = pathlib.Path(name)
        ours, yardsticks = build(directory)
        corpora = [
            corpus for corpus in hash_corpora.write(directory)
            if corpus[0] in (shapes or corpus[:1]) and corpus[2] in (sizes or corpus[2:3])]
        paths = [corpus[3] for corpus in corpora]
        hasher, other = Program(ours, "rounds", *paths), Program(yardsticks, *paths)
        implementation = other.line()
        rows = []
        try:
            for index, (shape, form, size, _) in enumerate(corpora):
                rates = [
                    (hasher.ask(index), other.ask(f"simdjson {index}"), other.ask(f"memcpy {index}"))
                    for _ in range(rounds)]
                rows.append((shape, form, size, *(statistics.median(column) for column in zip(*rates))))
        finally:
            hasher.stop()
            other.stop()
        return rows, implementation


def section(rounds=7, shapes=None, sizes=None):
    """The section of the page, in Markdown."""
    rows, implementation = measure(rounds, shapes, sizes)
    lines = [
        "## The content hash of JSON", "",
        "One core, GB (10⁹ bytes) per second of processor time, medians of "
        f"{rounds} alternating rounds of at least 30 ms. simdjson: its DOM parse with one parser for all documents, on "
        f"`{implementation}`; it keeps a tree and hashes nothing. memcpy: the same documents copied to one buffer. "
        "1 KB is 500 different documents in turn, 64 KB is 24.", "",
        "| documents | form | size | content hash | simdjson | memcpy | hash ÷ simdjson | hash ÷ memcpy | target | |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- | --- |",
    ]
    for shape, form, size, ours, simdjson, memcpy in rows:
        if form == "pretty":
            target, met = "≥ 1 GB/s", ours >= PRETTY_TARGET
        else:
            target, met = "≥ 0.5 × simdjson", ours >= MINIFIED_TARGET * simdjson
        lines.append(
            f"| {shape} | {form} | {size} | {ours / 1e9:.2f} | {simdjson / 1e9:.2f} | {memcpy / 1e9:.1f} "
            f"| {ours / simdjson:.2f} | {ours / memcpy:.3f} | {target} | {'met' if met else 'missed'} |")
    return "\n".join(lines) + "\n"


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--shapes", nargs="+", choices=hash_corpora.SHAPES)
    arguments.add_argument("--sizes", nargs="+", choices=[size for size, _, _ in hash_corpora.SIZES])
    options = arguments.parse_args()
    print(section(options.rounds, options.shapes, options.sizes))


if __name__ == "__main__":
    main()
