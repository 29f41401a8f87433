#!/bin/sh
# Stands in for the entry point of the official image: creates the cluster, runs the scripts for a new one, and starts the server.
set -eu
export PGDATA=/var/lib/postgresql/data POSTGRES_USER=postgres
as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }
shift
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA" /var/run/postgresql
  chown postgres:postgres "$PGDATA" /var/run/postgresql
  # shellcheck disable=SC2144
  PATH="$(echo /usr/lib/postgresql/*/bin):$PATH"
  cp "$POSTGRES_PASSWORD_FILE" /tmp/password
  chown postgres /tmp/password
  as_postgres initdb --username=postgres --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256 >/dev/null
  rm /tmp/password
  echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
  as_postgres pg_ctl -w -o "-c listen_addresses=''" start >/dev/null
  for script in /docker-entrypoint-initdb.d/*.sh; do as_postgres "$script"; done
  as_postgres pg_ctl -w -m fast stop >/dev/null
fi
PATH="$(echo /usr/lib/postgresql/*/bin):$PATH"
exec setpriv --reuid=postgres --regid=postgres --init-groups postgres -c "listen_addresses=*" "$@"
