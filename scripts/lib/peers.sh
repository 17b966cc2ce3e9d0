# Sourced after need.sh: installs the third-party programs that polis is tested with (the MCP conformance suite, the
# official SDKs, schemathesis, the memory server of the benchmarks, coding agents) into target/peers, at the versions
# pinned in scripts/peers and scripts/clients, and starts a polis server for them. Nothing is installed globally.

PEERS_HOME=$(cd "$(dirname "${BASH_SOURCE[0]}")/../peers" && pwd)
CLIENTS_HOME=$(cd "$(dirname "${BASH_SOURCE[0]}")/../clients" && pwd)

# peers_dir: prints the directory into which the programs are installed; `cargo clean` removes it.
peers_dir() {
  echo "${POLIS_PEERS_DIR:-${CARGO_TARGET_DIR:-$PEERS_HOME/../../target}/peers}"
}

# install_npm_packages NAME SOURCE: installs the packages of SOURCE/package-lock.json into the directory NAME, unless they
# are up to date.
install_npm_packages() {
  local dir stamp log
  dir=$(peers_dir)/$1
  stamp=$(sha256sum "$2/package-lock.json" | cut -c1-64)
  [ "$(cat "$dir/.stamp" 2>/dev/null)" != "$stamp" ] || return 0
  need npm npm
  echo "Installing npm packages into $dir ..." >&2
  mkdir -p "$dir" && rm -f "$dir/.stamp"
  cp "$2/package.json" "$2/package-lock.json" "$dir/"
  log=$dir/install.log
  # Install scripts are disabled; none of these packages needs one.
  (cd "$dir" && npm ci --ignore-scripts --no-audit --no-fund) >"$log" 2>&1 || {
    cat "$log" >&2
    echo "npm could not install the packages. Check the network connection." >&2
    exit 1
  }
  echo "$stamp" >"$dir/.stamp"
}

# need_node_peers: sets PEER_NODE (Node 22 or newer) and PEER_MODULES (the directory of the npm packages).
need_node_peers() {
  install_npm_packages node "$PEERS_HOME"
  PEER_MODULES=$(cd "$(peers_dir)/node/node_modules" && pwd)
  local node
  # Prefer the Node from npm, whose version is pinned. It exists only for Linux; other systems use the installed one.
  for node in "$PEER_MODULES"/node-*/bin/node "$(command -v node || true)"; do
    if [ -x "$node" ] && [ "$("$node" -p 'parseInt(process.versions.node)')" -ge 22 ]; then
      PEER_NODE=$node
      return 0
    fi
  done
  echo "This needs Node 22 or newer. Install it (nodejs.org), then run this again." >&2
  exit 1
}

# need_clients: sets CLIENT_MODULES, the directory of the npm packages of the coding agents that polis is tested with:
# about 420 MB to download and 1.1 GB on disk, nearly all of it executables.
need_clients() {
  install_npm_packages clients "$CLIENTS_HOME"
  CLIENT_MODULES=$(cd "$(peers_dir)/clients/node_modules" && pwd)
}

# need_python_packages NAME REQUIREMENTS: creates the virtual environment NAME with the packages of the requirements file
# and sets PEER_PYTHON to its interpreter.
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
    echo "Installing Python packages into $dir ..." >&2
    rm -rf "$dir" && mkdir -p "$dir"
    log=$dir.log
    { python3 -m venv "$dir" && "$dir/bin/pip" install --quiet -r "$2"; } >"$log" 2>&1 || {
      cat "$log" >&2
      echo "pip could not install the packages. Check the network connection." >&2
      exit 1
    }
    echo "$stamp" >"$dir/.stamp"
  fi
  PEER_PYTHON=$(cd "$dir/bin" && pwd)/python
}

# need_python_peers: sets PEER_PYTHON to an interpreter with the packages of scripts/peers/requirements.txt.
need_python_peers() {
  need_python_packages python "$PEERS_HOME/requirements.txt"
}

# need_browser: headless Chromium, its WebDriver and the accessibility checker axe, for tests and screenshots.
need_browser() {
  need chromium chromium
  need chromedriver chromium-driver
  [ -n "${PEER_MODULES:-}" ] || need_node_peers
  export POLIS_TEST_AXE=$PEER_MODULES/axe-core/axe.min.js
}

# new_polis POLIS: creates a polis directory with the agents of the tests and sets POLIS_HOME. The directory is removed and
# the servers are stopped when the script exits.
new_polis() {
  POLIS=$1
  POLIS_HOME=$(mktemp -d /tmp/polis-peers-XXXXXX)
  POLIS_SERVERS=()
  trap end_polis EXIT
  "$POLIS" --dir "$POLIS_HOME" --json init >/dev/null
  "$POLIS" --dir "$POLIS_HOME" --json agent add alice --role architect --layer top >/dev/null
  "$POLIS" --dir "$POLIS_HOME" --json agent add bob --role backend-leader --layer mid --supervisor alice >/dev/null
}

# issue_token AGENT: issues a token for an agent and prints it.
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

# wait_for_port PORT PID: waits until the port accepts connections. Fails if the process exits or after ten seconds.
wait_for_port() {
  local _
  for _ in $(seq 200); do
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return 0
    kill -0 "$2" 2>/dev/null || return 1
    sleep 0.05
  done
  return 1
}

# end_polis: stops the servers and cleans up. The run fails if a server exited early or with an error.
end_polis() {
  local status=$? server
  for server in "${POLIS_SERVERS[@]}"; do
    if ! kill "$server" 2>/dev/null || ! wait "$server"; then
      cat "$POLIS_SERVER_LOG" >&2
      echo "A server exited early or did not shut down cleanly." >&2
      status=1
    fi
  done
  # The project was added to the user's own list of trusted projects: SDKs start servers without the environment, so
  # POLIS_STATE_DIR cannot redirect it.
  "$POLIS" trust --remove "$POLIS_HOME" >/dev/null
  rm -rf "$POLIS_HOME" "$POLIS_HOME.serve.log"
  exit "$status"
}
