#!/usr/bin/env bash
# Put other ipykernels beside the environment's own, each in a folder that a kernel gets on its
# PYTHONPATH: clicks and interrupts are routed differently by each of them.
set -euo pipefail

python=${1:?usage: kernels.sh PYTHON FOLDER VERSION...}
folder=$2
shift 2
for version in "$@"; do
    [ -d "$folder/$version" ] && continue
    "$python" -m pip install -qq --no-deps --target "$folder/$version.part" "ipykernel==$version"
    mv "$folder/$version.part" "$folder/$version"
done
