#!/usr/bin/env bash
# Print the path of a Chromium for the browser tests: $CHROMIUM when it is set, else one that is
# installed, else Debian's package when we are root.
set -euo pipefail

find_one() {
    local name
    for name in ${CHROMIUM:-chromium chromium-browser google-chrome google-chrome-stable}; do
        command -v "$name" && return
    done
    return 1
}

find_one && exit
if [ -z "${CHROMIUM:-}" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing Chromium (apt) …" >&2
    {
        apt-get -qq update
        DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends chromium fonts-dejavu-core
    } >/dev/null
    find_one && exit
fi
echo "The browser tests need Chromium; ${CHROMIUM:-none} was found. Install it" >&2
echo "(Debian, as root: apt-get install chromium) or name it: make test CHROMIUM=/path/to/chromium" >&2
exit 1
