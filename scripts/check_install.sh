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
"$work/venv/bin/python" - <<'PYTHON'
from importlib.metadata import files
from importlib.resources import files as resources

import acp_notebook

static = resources(acp_notebook) / "widget" / "static"
for name in ("widget.js", "widget.css", "LICENSES.txt"):
    assert (static / name).read_text(), f"{name} is empty"
assert (resources(acp_notebook) / "py.typed").is_file()
strays = [str(f) for f in files("acp-notebook") if f.parts[0] not in {"acp_notebook", "..", f"acp_notebook-{acp_notebook.__version__}.dist-info"}]
assert not strays, f"the wheel holds files that are not the package's: {strays}"
print(f"pip install . needs no Node: acp_notebook {acp_notebook.__version__} is installed whole")
PYTHON
