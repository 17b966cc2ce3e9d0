# Sourced by scripts/test and bench/run: finds or installs programs, and starts a throw-away
# PostgreSQL cluster on loopback that ends with the script.

# need PROGRAM PACKAGE: makes sure a program is there.
need() {
  command -v "$1" >/dev/null 2>&1 || install_package "$2"
}

# install_package PACKAGE: installs a Debian package when it may, else says what to install.
install_package() {
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "This needs '$1'. Install it (Debian: sudo apt-get install $1), then run this again." >&2
    exit 1
  fi
  echo "Installing $1 ..." >&2
  { apt-get install -y -qq "$1" || { apt-get update -qq && apt-get install -y -qq "$1"; }; } >/dev/null 2>&1 || {
    echo "Could not install $1. Install it by hand, then run this again." >&2
    exit 1
  }
}

# need_postgres: sets PG_BIN to the directory of PostgreSQL's programs.
need_postgres() {
  find_postgres && return 0
  # Debian's package would start a cluster of its own; we only want the programs.
  if [ "$(id -u)" = 0 ] && [ -d /etc ] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    mkdir -p /etc/postgresql-common && echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  fi
  install_package postgresql
  find_postgres || { echo "PostgreSQL's initdb was not found after installing it." >&2; exit 1; }
}

find_postgres() {
  local found
  for found in "$(dirname "$(command -v initdb 2>/dev/null || echo /nowhere/x)")" /usr/lib/postgresql/*/bin /usr/pgsql-*/bin; do
    # Wanted: the directory with all programs, not one with links to some.
    found=$(dirname "$(readlink -f "$found/initdb" 2>/dev/null || echo /nowhere/x)")
    if [ -x "$found/initdb" ] && [ -x "$found/pg_ctl" ] && [ -x "$found/postgres" ]; then
      PG_BIN=$found
      return 0
    fi
  done
  return 1
}

# as_server COMMAND...: PostgreSQL refuses to run as root, so root runs it as somebody else.
as_server() {
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid="$PG_USER" --regid="$PG_GROUP" --clear-groups env HOME="$PG_HOME" "$@"
  else
    "$@"
  fi
}

# start_postgres [hasty]: starts a cluster and sets PG_URL and PG_DATA; it is removed when the script ends. A hasty one
# leaves it to the system when something reaches the disk: enough for tests, which crash the server but not the
# machine, and wrong for whoever measures what a durable write takes.
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
  [ "${1:-}" != hasty ] || printf 'fsync = off\nfull_page_writes = off\n' >>"$PG_DATA/postgresql.conf"
  as_server "$PG_BIN/pg_ctl" -D "$PG_DATA" -w -l "$PG_HOME/log" start >/dev/null || {
    cat "$PG_HOME/log" >&2
    exit 1
  }
  PG_URL=postgres://polis@127.0.0.1:$port/postgres
}

# crash_command: a command line that crashes the cluster started last and starts it again.
crash_command() {
  local run=""
  [ "$(id -u)" != 0 ] || run="setpriv --reuid=$PG_USER --regid=$PG_GROUP --clear-groups env HOME=$PG_HOME "
  echo "$run$PG_BIN/pg_ctl -D $PG_DATA -m immediate -w -l $PG_HOME/log restart"
}

stop_postgres() {
  local status=$? home
  for home in "${PG_HOMES[@]}"; do
    if [ "$status" != 0 ]; then
      printf '\nThe last lines of the log of PostgreSQL in %s:\n' "$home" >&2
      tail -n 40 "$home/log" >&2 || echo "There is none." >&2
    fi
    as_server "$PG_BIN/pg_ctl" -D "$home/data" -m immediate stop >/dev/null 2>&1 || echo "PostgreSQL was gone already." >&2
    rm -rf "$home" "$home.log"
  done
}

# A port nobody listens on, below those that systems give to whoever asks for any: a server that is started again finds
# it as it left it.
free_port() {
  local port
  for port in $(seq $((20000 + RANDOM % 12000)) 32767); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return 0; }
  done
  return 1
}
