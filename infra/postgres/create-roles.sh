#!/bin/sh
# The PostgreSQL image runs this once, when its data directory is new. Keep it executable: the image sources any other script
# into its entry point.
psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d postgres -f /run/secrets/role-passwords -f /etc/plainpath/roles.sql
