import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { getSystemErrorMessage, promisify } from 'node:util'
import type { Binaries } from './binaries.ts'
import { canServerUserRead, EmbeddedPostgresError, giveToServerUser } from './binaries.ts'
import { findRunningServer } from './postmaster.ts'
import { getServerUser, NOBODY } from './server-user.ts'

/** An initialized data directory. */
export interface Cluster {
  /** The folder in use, which may differ from the requested one. */
  dir: string
  /** The password of the superuser `postgres`. */
  password: string
}

/** Written last. A data directory with this file is therefore complete. */
const PASSWORD_FILE = 'superuser.secret'
const INITDB_TIMEOUT_MS = 60_000
/** No process still uses an unfinished directory of this age, because initdb takes at most a minute. */
const ABANDONED_AFTER_MS = 600_000
const INITDB_OPTIONS = [
  '--username=postgres',
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  '--no-instructions',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
]

/**
 * Opens a data directory, and creates it if it is missing or empty. If several processes create it at the same time,
 * one succeeds, and the others use its result. A killed process leaves no unfinished directory under this name.
 *
 * @param options.isDurable if false, the operating system decides when the created files are written to the disk
 * @throws {EmbeddedPostgresError} for a folder that contains something else or belongs to another user
 */
export async function openCluster(
  binaries: Binaries,
  directory: string,
  options: { isDurable: boolean },
): Promise<Cluster> {
  try {
    const requestedDir = path.resolve(directory)
    const dir = findReachableFolder(requestedDir)
    if (!fs.existsSync(path.join(dir, PASSWORD_FILE))) await createCluster(binaries, dir, options)
    takeFromNobody(dir)
    requireUsableCluster(binaries, dir, { isRequested: dir === requestedDir })
    return { dir: fs.realpathSync(dir), password: fs.readFileSync(path.join(dir, PASSWORD_FILE), 'utf8') }
  } catch (error) {
    const errno = (error as NodeJS.ErrnoException).errno
    if (error instanceof EmbeddedPostgresError || errno === undefined) throw error
    const reason = getSystemErrorMessage(errno)
    throw new EmbeddedPostgresError(`cannot store a database in ${directory}: ${reason}`, { cause: error })
  }
}

/** Returns `dir`, or a folder in /var/tmp if the server's user has no access to `dir`, such as one below /root. */
function findReachableFolder(dir: string): string {
  fs.mkdirSync(path.dirname(dir), { recursive: true })
  if (canServerUserRead(path.dirname(dir))) return dir
  const name = createHash('sha256').update(dir).digest('hex').slice(0, 16)
  return path.join('/var/tmp', `plainpath-postgres-data-${name}`)
}

/**
 * Changes a directory's owner from `nobody` to the server's user, because earlier releases ran root's server as
 * `nobody`. Does nothing while a server runs on the directory.
 */
function takeFromNobody(dir: string): void {
  const user = getServerUser()
  if (!user || user.uid === NOBODY.uid || fs.lstatSync(dir).uid !== NOBODY.uid || findRunningServer(dir))
    return
  const contents = fs
    .readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(dir, name))
  // The folder comes last. If this process is killed before that, the next start finds the old owner and repeats the change.
  for (const file of [...contents, dir]) fs.lchownSync(file, user.uid, user.gid)
}

/**
 * Checks that the server can run on the directory. A directory of another user can be used while a server runs on it. In
 * /var/tmp, it must be a directory of `nobody`, because any other user may have created it, with a server of their own.
 *
 * @param options.isRequested false for a directory in /var/tmp that replaces the requested one
 * @throws {EmbeddedPostgresError} if the directory cannot be used for this reason, or contains data of another major version
 */
function requireUsableCluster(
  binaries: Binaries,
  dir: string,
  { isRequested }: { isRequested: boolean },
): void {
  const owner = fs.lstatSync(dir).uid
  const user = getServerUser()?.uid ?? process.getuid?.()
  const mayBeForeign = (isRequested || owner === NOBODY.uid) && findRunningServer(dir) !== undefined
  if (owner !== user && !mayBeForeign) {
    throw new EmbeddedPostgresError(
      `the database in ${dir} belongs to user ${owner}, but user ${user} would run it`,
    )
  }
  const dataVersion = fs.readFileSync(path.join(dir, 'PG_VERSION'), 'utf8').trim()
  const [serverVersion] = binaries.version.split('.')
  if (dataVersion !== serverVersion) {
    throw new EmbeddedPostgresError(
      `${dir} contains data of PostgreSQL ${dataVersion}, but this release runs PostgreSQL ${serverVersion}`,
    )
  }
}

/** Creates the directory under a temporary name in the same folder, then renames it. */
async function createCluster(
  binaries: Binaries,
  dir: string,
  options: { isDurable: boolean },
): Promise<void> {
  if (fs.existsSync(dir) && fs.readdirSync(dir).length > 0) {
    throw new EmbeddedPostgresError(`${dir} is not empty and contains no database of Plainpath`)
  }
  removeAbandoned(dir)
  const unfinishedDir = fs.mkdtempSync(`${dir}.new-`)
  giveToServerUser(unfinishedDir)
  try {
    const password = randomBytes(24).toString('base64url')
    const passwordFile = path.join(unfinishedDir, 'password')
    writeSecret(passwordFile, password)
    const data = path.join(unfinishedDir, 'data')
    await runInitdb(binaries, [
      `--pgdata=${data}`,
      `--pwfile=${passwordFile}`,
      ...(options.isDurable ? [] : ['--no-sync']),
    ])
    writeSecret(path.join(data, PASSWORD_FILE), password)
    fs.renameSync(data, dir)
  } catch (error) {
    const isCreatedByAnother = fs.existsSync(path.join(dir, PASSWORD_FILE))
    if (!isCreatedByAnother) throw error
  } finally {
    fs.rmSync(unfinishedDir, { recursive: true, force: true })
  }
}

async function runInitdb(binaries: Binaries, options: string[]): Promise<void> {
  try {
    await promisify(execFile)(binaries.path('initdb'), [...INITDB_OPTIONS, ...options], {
      ...getServerUser(),
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
      timeout: INITDB_TIMEOUT_MS,
    })
  } catch (error) {
    throw new EmbeddedPostgresError(`cannot create a database: ${describeReason(error)}`, { cause: error })
  }
}

/** Extracts the reason for a failure of initdb, in one line: its first error message, or else its last line of output. */
function describeReason(error: unknown): string {
  const { code, message, stderr } = error as NodeJS.ErrnoException & { stderr?: string }
  if (code === 'EPERM' && getServerUser()) return 'root may not run a program as another user here'
  const output = stderr?.trim() || message
  return /(?:error|FATAL|PANIC): +(.*)/.exec(output)?.[1] ?? output.split('\n').at(-1) ?? output
}

function writeSecret(file: string, secret: string): void {
  fs.writeFileSync(file, secret, { mode: 0o600, flush: true })
  giveToServerUser(file)
}

/** Removes unfinished directories next to `dir`, which processes left when they were killed during a first start. */
function removeAbandoned(dir: string): void {
  const prefix = `${path.basename(dir)}.new-`
  for (const name of fs.readdirSync(path.dirname(dir)).filter((entry) => entry.startsWith(prefix))) {
    const unfinishedDir = path.join(path.dirname(dir), name)
    // If another process has removed the directory in the meantime, it counts as new.
    // oxlint-disable-next-line no-restricted-properties -- the age of a file
    const changedAt = fs.statSync(unfinishedDir, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
    // oxlint-disable-next-line no-restricted-properties -- the age of a file
    if (changedAt < Date.now() - ABANDONED_AFTER_MS)
      fs.rmSync(unfinishedDir, { recursive: true, force: true })
  }
}
