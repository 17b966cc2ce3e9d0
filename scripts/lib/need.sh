# Sourced by the scripts: finds or installs programs, and starts a temporary PostgreSQL cluster on loopback, which is
# removed when the script exits.

# need PROGRAM PACKAGE: installs PACKAGE if PROGRAM is not on the PATH.
need() {
  command -v "$1" >/dev/null 2>&1 || install_package "$2"
}

# install_package PACKAGE: installs a Debian package if run as root; otherwise prints its name and exits.
install_package() {
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "This needs '$1'. Install it (Debian: sudo apt-get install $1), then run this again." >&2
    exit 1
  fi
  echo "Installing $1 ..." >&2
  { apt-get install -y -qq "$1" || { apt-get update -qq && apt-get install -y -qq "$1"; }; } >/dev/null 2>&1 || {
    echo "Could not install $1. Install it manually, then run this again." >&2
    exit 1
  }
}

# need_postgres: sets PG_BIN to the directory of the PostgreSQL executables.
need_postgres() {
  find_postgres && return 0
  # Keeps Debian's package from creating and starting a default cluster; only the executables are needed.
  if [ "$(id -u)" = 0 ] && [ -d /etc ] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    mkdir -p /etc/postgresql-common && echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  fi
  install_package postgresql
  find_postgres || { echo "initdb was not found after installing PostgreSQL." >&2; exit 1; }
}

find_postgres() {
  local dir
  for dir in "$(dirname "$(command -v initdb 2>/dev/null || echo /nowhere/x)")" /usr/lib/postgresql/*/bin /usr/pgsql-*/bin; do
    # Resolve symlinks: a directory such as /usr/bin may link to only some of the executables.
    dir=$(dirname "$(readlink -f "$dir/initdb" 2>/dev/null || echo /nowhere/x)")
    if [ -x "$dir/initdb" ] && [ -x "$dir/pg_ctl" ] && [ -x "$dir/postgres" ]; then
      PG_BIN=$dir
      return 0
    fi
  done
  return 1
}

# as_server COMMAND...: runs a command as PG_USER if called by root, because PostgreSQL refuses to run as root.
as_server() {
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid="$PG_USER" --regid="$PG_GROUP" --clear-groups env HOME="$PG_HOME" "$@"
  else
    "$@"
  fi
}

# start_postgres [no-fsync]: starts a cluster and sets PG_URL and PG_DATA. The cluster is removed when the script exits.
# With no-fsync, commits are not flushed to disk. That is safe for tests, which crash the server but not the machine, and
# wrong for benchmarks, which measure durable writes.
PG_HOMES=()
start_postgres() {
  PG_USER=nobody
  id postgres >/dev/null 2>&1 && PG_USER=postgres
  PG_GROUP=$(id -gn "$PG_USER")
  PG_HOME=$(mktemp -d /tmp/polis-pg-XXXXXX)
  PG_HOMES+=("$PG_HOME")
  PG_DATA=$PG_HOME/data
  [ "$(id -u)" != 0 ] || chown "$PG_USER:$PG_GROUP" "$PG_HOME"
  trap stop_postgres EXIT
  local port
  port=$(free_port)
  as_server "$PG_BIN/initdb" -D "$PG_DATA" -U polis -A trust -E UTF8 --locale=C --no-sync >"$PG_HOME.log" 2>&1 || {
    cat "$PG_HOME.log" >&2
    exit 1
  }
  cat >>"$PG_DATA/postgresql.conf" <<CONF
port = $port
listen_addresses = '127.0.0.1'
unix_socket_directories = '$PG_HOME'
max_connections = 300
CONF
  [ "${1:-}" != no-fsync ] || printf 'fsync = off\nfull_page_writes = off\n' >>"$PG_DATA/postgresql.conf"
  as_server "$PG_BIN/pg_ctl" -D "$PG_DATA" -w -l "$PG_HOME/log" start >/dev/null || {
    cat "$PG_HOME/log" >&2
    exit 1
  }
  PG_URL=postgres://polis@127.0.0.1:$port/postgres
}

# crash_command: prints a command line that crashes the most recently started cluster and restarts it.
crash_command() {
  local run=""
  [ "$(id -u)" != 0 ] || run="setpriv --reuid=$PG_USER --regid=$PG_GROUP --clear-groups env HOME=$PG_HOME "
  echo "$run$PG_BIN/pg_ctl -D $PG_DATA -m immediate -w -l $PG_HOME/log restart"
}

stop_postgres() {
  local status=$? home
  for home in "${PG_HOMES[@]}"; do
    if [ "$status" != 0 ]; then
      printf '\nLast lines of the PostgreSQL log in %s:\n' "$home" >&2
      tail -n 40 "$home/log" >&2 || echo "No log was written." >&2
    fi
    as_server "$PG_BIN/pg_ctl" -D "$home/data" -m immediate stop >/dev/null 2>&1 || echo "PostgreSQL was not running." >&2
    rm -rf "$home" "$home.log"
  done
}

# free_port: prints an unused port below the ephemeral range, so that no other process is assigned it while a server
# restarts.
free_port() {
  local port
  for port in $(seq $((20000 + RANDOM % 12000)) 32767); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return 0; }
  done
  return 1
}
