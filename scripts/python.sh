#!/usr/bin/env bash
# Print a Python that this project runs on (3.11 or newer): $PYTHON when it is set, else the first found.
set -euo pipefail

fits() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
    if fits "$candidate"; then
        command -v "$candidate"
        exit 0
    fi
done
found=$("${PYTHON:-python3}" --version 2>/dev/null || echo "not found")
echo "acp_notebook needs Python 3.11 or newer; ${PYTHON:-python3} is: $found." >&2
echo "Install one, or name it: make test PYTHON=/path/to/python3.11" >&2
exit 1
