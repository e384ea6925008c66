#!/usr/bin/env bash
# Fail with a clear message unless Node 20 or newer and npm are there. Only building and testing the
# page needs them; installing the package does not.
set -euo pipefail

if command -v npm >/dev/null && node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null; then
    exit 0
fi
echo "Building and testing the page needs Node 20 or newer with npm; node is: $(node --version 2>/dev/null || echo "not found")." >&2
exit 1
