#!/bin/sh
# Run once by the PostgreSQL image, when its data directory is new.
set -eu
exec psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d postgres -f /run/secrets/role-passwords -f /etc/plainpath/roles.sql
