# Sourced after need.sh: brings the outside programs that polis is held against (the MCP conformance suite,
# the official SDKs, schemathesis, the memory server of the benchmarks, coding agents) into target/peers, at the
# versions pinned in scripts/peers and scripts/clients, and starts a polis server for them. Nothing is installed globally.

PEERS_HOME=$(cd "$(dirname "${BASH_SOURCE[0]}")/../peers" && pwd)
CLIENTS_HOME=$(cd "$(dirname "${BASH_SOURCE[0]}")/../clients" && pwd)

# peers_dir: where the programs are kept; `cargo clean` removes them.
peers_dir() {
  echo "${POLIS_PEERS_DIR:-${CARGO_TARGET_DIR:-$PEERS_HOME/../../target}/peers}"
}

# install_npm_packages NAME SOURCE: installs what SOURCE/package-lock.json pins into the directory NAME, unless it is there.
install_npm_packages() {
  local dir stamp log
  dir=$(peers_dir)/$1
  stamp=$(sha256sum "$2/package-lock.json" | cut -c1-64)
  [ "$(cat "$dir/.stamp" 2>/dev/null)" != "$stamp" ] || return 0
  need npm npm
  echo "Installing npm's packages into $dir ..." >&2
  mkdir -p "$dir" && rm -f "$dir/.stamp"
  cp "$2/package.json" "$2/package-lock.json" "$dir/"
  log=$dir/install.log
  # Install scripts stay off: none of these packages needs one.
  (cd "$dir" && npm ci --ignore-scripts --no-audit --no-fund) >"$log" 2>&1 || {
    cat "$log" >&2
    echo "npm could not install the packages. Is the network there?" >&2
    exit 1
  }
  echo "$stamp" >"$dir/.stamp"
}

# need_node_peers: sets PEER_NODE (Node 22 or newer) and PEER_MODULES (npm's packages).
need_node_peers() {
  install_npm_packages node "$PEERS_HOME"
  PEER_MODULES=$(cd "$(peers_dir)/node/node_modules" && pwd)
  local node
  # The packaged Node first: it is the pinned one. Elsewhere than Linux the system's has to do.
  for node in "$PEER_MODULES"/node-*/bin/node "$(command -v node || true)"; do
    if [ -x "$node" ] && [ "$("$node" -p 'parseInt(process.versions.node)')" -ge 22 ]; then
      PEER_NODE=$node
      return 0
    fi
  done
  echo "This needs Node 22 or newer. Install it (nodejs.org), then run this again." >&2
  exit 1
}

# need_clients: sets CLIENT_MODULES, npm's packages of the coding agents that polis is tested with: some 420 MB to
# download and 1.1 GB on disk, nearly all of it the programs for this machine.
need_clients() {
  install_npm_packages clients "$CLIENTS_HOME"
  CLIENT_MODULES=$(cd "$(peers_dir)/clients/node_modules" && pwd)
}

# need_python_packages NAME REQUIREMENTS: sets PEER_PYTHON, a Python with these packages (a file), in an environment
# of that name.
need_python_packages() {
  local dir stamp log
  dir=$(peers_dir)/$1
  need python3 python3
  stamp=$(python3 --version; sha256sum "$2" | cut -c1-64)
  if [ "$(cat "$dir/.stamp" 2>/dev/null)" != "$stamp" ]; then
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
      echo "This needs Python 3.10 or newer as 'python3'. Install it, then run this again." >&2
      exit 1
    }
    python3 -c 'import ensurepip, venv' 2>/dev/null || install_package python3-venv
    echo "Installing Python's packages into $dir ..." >&2
    rm -rf "$dir" && mkdir -p "$dir"
    log=$dir.log
    { python3 -m venv "$dir" && "$dir/bin/pip" install --quiet -r "$2"; } >"$log" 2>&1 || {
      cat "$log" >&2
      echo "pip could not install the packages. Is the network there?" >&2
      exit 1
    }
    echo "$stamp" >"$dir/.stamp"
  fi
  PEER_PYTHON=$(cd "$dir/bin" && pwd)/python
}

# need_python_peers: sets PEER_PYTHON, a Python with the packages of requirements.txt.
need_python_peers() {
  need_python_packages python "$PEERS_HOME/requirements.txt"
}

# need_browser: a browser without a window and its driver, and what looks at accessibility, for tests and pictures.
need_browser() {
  need chromium chromium
  need chromedriver chromium-driver
  [ -n "${PEER_MODULES:-}" ] || need_node_peers
  export POLIS_TEST_AXE=$PEER_MODULES/axe-core/axe.min.js
}

# new_polis POLIS: makes a fresh polis directory with the agents of the tests; sets POLIS_HOME. It and the
# servers end with the script.
new_polis() {
  POLIS=$1
  POLIS_HOME=$(mktemp -d /tmp/polis-peers-XXXXXX)
  POLIS_SERVERS=()
  trap end_polis EXIT
  "$POLIS" --dir "$POLIS_HOME" --json init >/dev/null
  "$POLIS" --dir "$POLIS_HOME" --json agent add alice --role architect --layer top >/dev/null
  "$POLIS" --dir "$POLIS_HOME" --json agent add bob --role backend-leader --layer mid --supervisor alice >/dev/null
}

# issue_token AGENT: prints a new token of an agent.
issue_token() {
  "$POLIS" --dir "$POLIS_HOME" --json agent token issue "$1" | sed -n 's/.*"token": *"\([^"]*\)".*/\1/p'
}

# serve_polis: starts `polis serve` on a free port; sets POLIS_URL and POLIS_SERVER_LOG.
serve_polis() {
  local port
  port=$(free_port)
  POLIS_URL=http://127.0.0.1:$port
  POLIS_SERVER_LOG=$POLIS_HOME.serve.log
  "$POLIS" --dir "$POLIS_HOME" serve --listen "127.0.0.1:$port" >"$POLIS_SERVER_LOG" 2>&1 &
  POLIS_SERVERS+=($!)
  wait_for_port "$port" $! || {
    cat "$POLIS_SERVER_LOG" >&2
    echo "polis serve did not start." >&2
    exit 1
  }
}

# wait_for_port PORT PID: until somebody listens there, or the process ended, or ten seconds passed.
wait_for_port() {
  local _
  for _ in $(seq 200); do
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return 0
    kill -0 "$2" 2>/dev/null || return 1
    sleep 0.05
  done
  return 1
}

# end_polis: ends the servers and clears up. A server that ended by itself, or not in good order, fails the run.
end_polis() {
  local status=$? server
  for server in "${POLIS_SERVERS[@]}"; do
    if ! kill "$server" 2>/dev/null || ! wait "$server"; then
      cat "$POLIS_SERVER_LOG" >&2
      echo "A server did not end in good order." >&2
      status=1
    fi
  done
  # Recorded for the user: SDKs start servers without the environment, so it cannot be recorded elsewhere.
  "$POLIS" trust --remove "$POLIS_HOME" >/dev/null
  rm -rf "$POLIS_HOME" "$POLIS_HOME.serve.log"
  exit "$status"
}
