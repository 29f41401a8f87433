import { Logger, runMigrations } from 'graphile-worker'
import pg from 'pg'
import { APP_ROLE_SETTING } from './app-role-grants.ts'
import { CONNECT_TIMEOUT_MS, ignoreErrorEvents } from './connection.ts'

const SILENT = new Logger(() => () => undefined)

/**
 * Brings graphile-worker's schema `graphile_worker` forward, as the role that owns it. It does nothing when the schema
 * is of the library's version.
 */
export async function installJobQueue(url: string, statementMs: number): Promise<void> {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'plainpath migrate',
    max: 1,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: statementMs,
  })
  pool.on('connect', ignoreErrorEvents)
  pool.on('error', () => undefined)
  try {
    await runMigrations({ pgPool: pool, logger: SILENT })
  } finally {
    await pool.end()
  }
}

/**
 * Lets the app role add and work jobs. The library closes its tables by row-level security without a policy, so that
 * only their owner could; its migrations table may only be read.
 */
export const JOB_QUEUE_GRANTS = `
do $grants$
declare
  app_role text := current_setting('${APP_ROLE_SETTING}');
  relation record;
begin
  if app_role = current_user then return; end if;
  execute format('grant usage on schema graphile_worker to %I', app_role);
  for relation in
    select oid, oid::regclass as name, relkind, relrowsecurity,
      case when relkind = 'v' or relname = 'migrations' then 'select' else 'select, insert, update, delete' end as allowed
    from pg_class
    where relnamespace = 'graphile_worker'::regnamespace and relkind in ('r', 'v')
  loop
    execute format('grant %s on %s to %I', relation.allowed, relation.name, app_role);
    if relation.relrowsecurity and not exists (
      select from pg_policy where polrelid = relation.oid and quote_ident(app_role)::regrole = any (polroles)
    ) then
      execute format('create policy %I on %s to %I using (true) with check (true)', app_role, relation.name, app_role);
    end if;
  end loop;
end $grants$;
`
