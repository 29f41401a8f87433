// oxlint-disable-next-line no-restricted-imports -- SCRAM (RFC 5802) requires PBKDF2; no request waits for it
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import pg from 'pg'
import { takeLock } from './advisory-lock.ts'
import { connect } from './connection.ts'

/** A database with two roles. The owner migrates it; the app can only connect until a migration grants it more. */
export interface DatabaseSpec {
  name: string
  owner: RoleSpec
  app: RoleSpec
}
interface RoleSpec {
  name: string
  /** Printable ASCII without spaces (see `computeScramVerifier`). */
  password: string
}

/** How long a call waits for a concurrent call. */
const LOCK_SECONDS = 30
/** Long enough for `create database`, which copies a template and can take longer than any other statement. */
const STATEMENT_MS = 40_000

/**
 * Creates the missing roles and databases, and sets all passwords. Only the two roles of a database and administrators
 * can connect to it. Concurrent calls are safe.
 *
 * @param adminUrl the URL of a role that may create roles and databases
 * @returns each database's URLs, in the order of `specs`
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
  const databases = []
  for (const spec of specs) {
    const { name, owner, app } = spec
    const ownerUrl = createDatabaseUrl(adminUrl, name, owner)
    await ensureRole(admin, owner)
    await ensureRole(admin, app)
    await ensureDatabase(admin, spec)
    await restrictSchema(ownerUrl, app.name)
    databases.push({ name, ownerUrl, appUrl: createDatabaseUrl(adminUrl, name, app) })
  }
  return databases
}

/**
 * Lets only superusers connect to the databases `postgres` and `template1`. Call this only for a server that nothing else
 * uses.
 *
 * @param adminUrl the URL of a superuser
 */
export async function restrictServerDatabases(adminUrl: string): Promise<void> {
  await using admin = await connect(adminUrl, { applicationName: 'plainpath roles' })
  await takeLock(admin, 'plainpath roles and databases', LOCK_SECONDS)
  await admin.query('revoke all on database postgres, template1 from public')
}

/** Creates a URL like `url`, but with another database and, if `user` is given, with another user. */
export function createDatabaseUrl(url: string, database: string, user?: RoleSpec): string {
  const newUrl = new URL(url)
  newUrl.pathname = `/${encodeURIComponent(database)}`
  if (user) {
    newUrl.username = encodeURIComponent(user.name)
    newUrl.password = encodeURIComponent(user.password)
  }
  return newUrl.href
}

/** Lets only the owner, the app and administrators connect to a database. */
export async function restrictDatabase(
  admin: Pick<pg.Client, 'query'>,
  database: string,
  app: string,
): Promise<void> {
  await admin.query(`revoke all on database ${escapeId(database)} from public`)
  await admin.query(`grant connect on database ${escapeId(database)} to ${escapeId(app)}`)
}

const escapeId = pg.escapeIdentifier

async function ensureRole(admin: pg.Client, role: RoleSpec): Promise<void> {
  const { rowCount } = await admin.query('select from pg_roles where rolname = $1', [role.name])
  if (rowCount === 0) await admin.query(`create role ${escapeId(role.name)}`)
  await admin.query(
    `alter role ${escapeId(role.name)} login password ${pg.escapeLiteral(computeScramVerifier(role.password))}`,
  )
}

async function ensureDatabase(admin: pg.Client, { name, owner, app }: DatabaseSpec): Promise<void> {
  // An administrator who is not a superuser can create a database only for a role of which they are a member.
  const { rows } = await admin.query<{ super: boolean }>(
    'select rolsuper as super from pg_roles where rolname = current_user',
  )
  if (rows[0]?.super !== true) await admin.query(`grant ${escapeId(owner.name)} to current_user`)
  const { rowCount } = await admin.query('select from pg_database where datname = $1', [name])
  if (rowCount === 0) await admin.query(`create database ${escapeId(name)} owner ${escapeId(owner.name)}`)
  await restrictDatabase(admin, name, app.name)
}

/**
 * Lets only the owner and the app use schema `public`. Changes nothing if that is already so, because a migration may be
 * granting privileges on the schema at the same time.
 */
async function restrictSchema(ownerUrl: string, app: string): Promise<void> {
  await using owner = await connect(ownerUrl, { applicationName: 'plainpath roles' })
  const { rows } = await owner.query<{ closed: boolean }>(
    `select has_schema_privilege($1, 'public', 'usage')
       and not has_schema_privilege('public', 'public', 'usage, create') as closed`,
    [app],
  )
  if (rows[0]?.closed === true) return
  await owner.query(`revoke all on schema public from public`)
  await owner.query(`grant usage on schema public to ${escapeId(app)}`)
}

/** PostgreSQL's default (`scram_iterations`). */
const ITERATIONS = 4_096

/**
 * Computes the SCRAM verifier that PostgreSQL stores for a password (RFC 5803 §2). We send the verifier, so neither the
 * server nor its log receives the password.
 *
 * @param password printable ASCII without spaces, which SASLprep (RFC 4013) does not change
 * @throws {Error} for any other password
 */
export function computeScramVerifier(password: string): string {
  if (!/^[\x21-\x7e]+$/.test(password)) throw new Error('a database password must be printable ASCII')
  const salt = randomBytes(16)
  const saltedPassword = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256')
  const computeHmac = (text: string) => createHmac('sha256', saltedPassword).update(text).digest()
  const storedKey = createHash('sha256').update(computeHmac('Client Key')).digest('base64')
  const serverKey = computeHmac('Server Key').toString('base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}
