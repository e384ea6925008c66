#!/usr/bin/env bash
# Prove that `pip install .` of a clean export of HEAD needs no Node: node and npm are shadowed by
# stubs that fail and leave a mark, and the installed package carries the built page and its licences.
set -euo pipefail

python=${1:?usage: check_install.sh PYTHON}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/export" "$work/stubs"
git archive HEAD | tar -x -C "$work/export"
for tool in node npm npx; do
    printf '#!/bin/sh\necho "$0 $*" >>"%s/node-was-used"\nexit 127\n' "$work" >"$work/stubs/$tool"
    chmod +x "$work/stubs/$tool"
done

"$python" -m venv "$work/venv"
PATH="$work/stubs:$PATH" "$work/venv/bin/python" -m pip install -qq --no-deps "$work/export"
if [ -e "$work/node-was-used" ]; then
    echo "pip install . used Node:" >&2
    cat "$work/node-was-used" >&2
    exit 1
fi
cd "$work"
"$work/venv/bin/python" - "$work/export/acp_notebook" <<'PYTHON'
import sys
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import acp_notebook

source = Path(sys.argv[1])
exported = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
installed = {name for name in exported if (files(acp_notebook) / name).is_file()}
assert {"widget/static/widget.js", "widget/static/LICENSES.txt", "py.typed"} <= exported
assert exported == installed, f"not installed: {sorted(exported - installed)}"
print(f"pip install . needs no Node: acp_notebook {version('acp-notebook')} is installed whole")
PYTHON
