/** The session setting from which `APP_ROLE_GRANTS` reads the app role. */
export const APP_ROLE_SETTING = 'plainpath.app_role'

export const MIGRATIONS_TABLE = 'schema_migrations'

/**
 * SQL that grants the app role usage of schema `public`, and exactly these privileges on the owner's relations in it:
 * - usage and select on sequences
 * - select on views and the migrations table
 * - select and insert on tables whose comment begins with `append-only`
 * - select, insert, update and delete on all other tables
 *
 * Does nothing if the owner is the app role. `relkind` (pg_class) is `r` for a table, `p` for a partitioned table, `v` for a
 * view, `m` for a materialized view, and `S` for a sequence.
 */
export const APP_ROLE_GRANTS = `
do $grants$
declare
  app_role text := current_setting('${APP_ROLE_SETTING}');
  relation record;
begin
  if app_role = current_user then return; end if;
  execute format('grant usage on schema public to %I', app_role);
  for relation in
    select oid::regclass as name,
      case
        when relkind = 'S' then 'usage, select'
        when relkind in ('v', 'm') or relname = '${MIGRATIONS_TABLE}' then 'select'
        when obj_description(oid, 'pg_class') like 'append-only%' then 'select, insert'
        else 'select, insert, update, delete'
      end as allowed,
      case when relkind = 'S' then 'sequence' else 'table' end as kind
    from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'S')
      and pg_get_userbyid(relowner) = current_user
  loop
    execute format('revoke all on %s %s from %I', relation.kind, relation.name, app_role);
    execute format('grant %s on %s %s to %I', relation.allowed, relation.kind, relation.name, app_role);
  end loop;
end $grants$;
`
