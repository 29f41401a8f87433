// oxlint-disable-next-line no-restricted-imports -- SCRAM (RFC 5802) is made of it; no request waits for it
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import pg from 'pg'
import { takeLock } from './advisory-lock.ts'
import { connect } from './connection.ts'

/** A database with two roles: the owner migrates it; the app can only connect until a migration grants it more. */
export interface DatabaseSpec {
  name: string
  owner: RoleSpec
  app: RoleSpec
}
interface RoleSpec {
  name: string
  password: string
}

const LOCK_SECONDS = 30
/** Copying a template can take longer than any other statement. */
const STATEMENT_MS = 40_000

/**
 * Creates the roles and databases that are missing, and sets all passwords. Concurrent calls are safe. Only the two roles of
 * a database and administrators can connect to it.
 *
 * @param adminUrl connects as a role that may create roles and databases
 * @returns the URLs of each database, in the order of `specs`
 */
export async function ensureRolesAndDatabases(
  adminUrl: string,
  specs: readonly DatabaseSpec[],
): Promise<{ name: string; ownerUrl: string; appUrl: string }[]> {
  await using admin = await connect(adminUrl, {
    applicationName: 'plainpath roles',
    statementMs: STATEMENT_MS,
  })
  await takeLock(admin, 'plainpath roles and databases', LOCK_SECONDS)
  const addresses = []
  for (const spec of specs) {
    const { name, owner, app } = spec
    const ownerUrl = databaseUrl(adminUrl, name, owner)
    await ensureRole(admin, owner)
    await ensureRole(admin, app)
    await ensureDatabase(admin, spec)
    await closeSchema(ownerUrl, app.name)
    addresses.push({ name, ownerUrl, appUrl: databaseUrl(adminUrl, name, app) })
  }
  return addresses
}

/**
 * Closes the databases that every server has to all roles but superusers. Only for a server without other users.
 *
 * @param adminUrl a superuser
 */
export async function closeServerDatabases(adminUrl: string): Promise<void> {
  await using admin = await connect(adminUrl, { applicationName: 'plainpath roles' })
  await takeLock(admin, 'plainpath roles and databases', LOCK_SECONDS)
  await admin.query('revoke all on database postgres, template1 from public')
}

/** Returns `url` with another database, and another user if one is given. */
export function databaseUrl(url: string, database: string, user?: RoleSpec): string {
  const changed = new URL(url)
  changed.pathname = `/${encodeURIComponent(database)}`
  if (user) {
    changed.username = encodeURIComponent(user.name)
    changed.password = encodeURIComponent(user.password)
  }
  return changed.href
}

/** Lets only the owner, the app and administrators connect to a database. */
export async function closeDatabase(
  admin: Pick<pg.Client, 'query'>,
  database: string,
  app: string,
): Promise<void> {
  await admin.query(`revoke all on database ${id(database)} from public`)
  await admin.query(`grant connect on database ${id(database)} to ${id(app)}`)
}

const id = pg.escapeIdentifier

async function ensureRole(admin: pg.Client, role: RoleSpec): Promise<void> {
  const { rowCount } = await admin.query('select from pg_roles where rolname = $1', [role.name])
  if (rowCount === 0) await admin.query(`create role ${id(role.name)}`)
  await admin.query(
    `alter role ${id(role.name)} login password ${pg.escapeLiteral(scramVerifier(role.password))}`,
  )
}

async function ensureDatabase(admin: pg.Client, { name, owner, app }: DatabaseSpec): Promise<void> {
  // An administrator without superuser rights can give a database only to a role that it is a member of.
  const { rows } = await admin.query<{ super: boolean }>(
    'select rolsuper as super from pg_roles where rolname = current_user',
  )
  if (rows[0]?.super !== true) await admin.query(`grant ${id(owner.name)} to current_user`)
  const { rowCount } = await admin.query('select from pg_database where datname = $1', [name])
  if (rowCount === 0) await admin.query(`create database ${id(name)} owner ${id(owner.name)}`)
  await closeDatabase(admin, name, app.name)
}

/** Closes schema `public` unless it is closed already: a migration may be granting privileges on it at the same time. */
async function closeSchema(ownerUrl: string, app: string): Promise<void> {
  await using owner = await connect(ownerUrl, { applicationName: 'plainpath roles' })
  const { rows } = await owner.query<{ closed: boolean }>(
    `select has_schema_privilege($1, 'public', 'usage')
       and not has_schema_privilege('public', 'public', 'usage, create') as closed`,
    [app],
  )
  if (rows[0]?.closed === true) return
  await owner.query(`revoke all on schema public from public`)
  await owner.query(`grant usage on schema public to ${id(app)}`)
}

const ITERATIONS = 4_096

/**
 * Computes the SCRAM verifier that PostgreSQL stores for a password (RFC 5803 §2). Sent in place of the password, it keeps the
 * password from the server and its log.
 *
 * @param password printable ASCII, so that SASLprep (RFC 4013) changes nothing
 */
export function scramVerifier(password: string): string {
  if (!/^[\x21-\x7e]+$/.test(password)) throw new Error('a database password must be printable ASCII')
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256')
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest()
  const storedKey = createHash('sha256').update(keyed('Client Key')).digest('base64')
  const serverKey = keyed('Server Key').toString('base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}
