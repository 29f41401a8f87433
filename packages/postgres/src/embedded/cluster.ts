import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { getSystemErrorMessage, promisify } from 'node:util'
import type { Binaries } from './binaries.ts'
import { EmbeddedPostgresError, giveToServerUser, serverUserReaches } from './binaries.ts'
import { runningServer } from './postmaster.ts'
import { NOBODY, serverUser } from './server-user.ts'

/** A data directory, ready to be served. */
export interface Cluster {
  /** The folder really used. */
  dir: string
  /** Of the superuser `postgres`. */
  password: string
}

const PASSWORD_FILE = 'superuser.secret'
const INITDB_TIMEOUT_MS = 60_000
const ABANDONED_AFTER_MS = 600_000
const INITDB_OPTIONS = [
  ...['--username=postgres', '--auth=scram-sha-256', '--encoding=UTF8', '--no-instructions'],
  ...['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
]

/**
 * Opens the data directory `wanted`, made if it is missing or empty. Of several processes that make it at once one
 * wins; one that is killed leaves nothing half made.
 *
 * @param options.durable false leaves writing to the disk to the operating system.
 * @throws {EmbeddedPostgresError} for a folder that holds something else or belongs to somebody else.
 */
export async function openCluster(
  binaries: Binaries,
  directory: string,
  options: { durable: boolean },
): Promise<Cluster> {
  try {
    const dir = reachableFolder(path.resolve(directory))
    if (!fs.existsSync(path.join(dir, PASSWORD_FILE))) await makeCluster(binaries, dir, options)
    takeFromNobody(dir)
    checkCluster(binaries, dir)
    return { dir: fs.realpathSync(dir), password: fs.readFileSync(path.join(dir, PASSWORD_FILE), 'utf8') }
  } catch (error) {
    const errno = (error as NodeJS.ErrnoException).errno
    if (error instanceof EmbeddedPostgresError || errno === undefined) throw error
    const reason = getSystemErrorMessage(errno)
    throw new EmbeddedPostgresError(`cannot keep a database in ${directory}: ${reason}`, { cause: error })
  }
}

/** Below a folder closed to the server's user, such as /root, a folder of /var/tmp named after `dir` takes its place. */
function reachableFolder(dir: string): string {
  fs.mkdirSync(path.dirname(dir), { recursive: true })
  if (serverUserReaches(path.dirname(dir))) return dir
  const name = createHash('sha256').update(dir).digest('hex').slice(0, 16)
  return path.join('/var/tmp', `plainpath-postgres-data-${name}`)
}

/** Servers that root started ran as `nobody` once. One that still runs is left as it is. */
function takeFromNobody(dir: string): void {
  const user = serverUser()
  if (!user || user.uid === NOBODY.uid || fs.lstatSync(dir).uid !== NOBODY.uid || runningServer(dir)) return
  const inside = fs
    .readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(dir, name))
  // The folder last: until it is done, the next start does it again.
  for (const file of [...inside, dir]) fs.lchownSync(file, user.uid, user.gid)
}

function checkCluster(binaries: Binaries, dir: string): void {
  const owner = fs.lstatSync(dir).uid
  const user = serverUser()?.uid ?? process.getuid?.()
  if (owner !== user && !runningServer(dir)) {
    throw new EmbeddedPostgresError(
      `the database in ${dir} belongs to user ${owner}, and would be run by user ${user}`,
    )
  }
  const held = fs.readFileSync(path.join(dir, 'PG_VERSION'), 'utf8').trim()
  const [served] = binaries.version.split('.')
  if (held !== served) {
    throw new EmbeddedPostgresError(
      `${dir} holds data of PostgreSQL ${held}; this version runs PostgreSQL ${served}`,
    )
  }
}

/** Made beside its place, then renamed. */
async function makeCluster(binaries: Binaries, dir: string, options: { durable: boolean }): Promise<void> {
  if (fs.existsSync(dir) && fs.readdirSync(dir).length > 0) {
    throw new EmbeddedPostgresError(`${dir} is not empty and holds no database of ours`)
  }
  removeAbandoned(dir)
  const making = fs.mkdtempSync(`${dir}.new-`)
  giveToServerUser(making)
  try {
    const password = randomBytes(24).toString('base64url')
    const passwordFile = path.join(making, 'password')
    writeSecret(passwordFile, password)
    const data = path.join(making, 'data')
    await initialize(binaries, [
      `--pgdata=${data}`,
      `--pwfile=${passwordFile}`,
      ...(options.durable ? [] : ['--no-sync']),
    ])
    writeSecret(path.join(data, PASSWORD_FILE), password)
    fs.renameSync(data, dir)
  } catch (error) {
    const anotherWasFirst = fs.existsSync(path.join(dir, PASSWORD_FILE))
    if (!anotherWasFirst) throw error
  } finally {
    fs.rmSync(making, { recursive: true, force: true })
  }
}

async function initialize(binaries: Binaries, options: string[]): Promise<void> {
  try {
    await promisify(execFile)(binaries.path('initdb'), [...INITDB_OPTIONS, ...options], {
      ...serverUser(),
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
      timeout: INITDB_TIMEOUT_MS,
    })
  } catch (error) {
    throw new EmbeddedPostgresError(`cannot make a database: ${describeReason(error)}`, { cause: error })
  }
}

function describeReason(failed: unknown): string {
  const { code, message, stderr } = failed as NodeJS.ErrnoException & { stderr?: string }
  if (code === 'EPERM' && serverUser()) return 'root may not run a program as another user here'
  const output = stderr?.trim() || message
  return /(?:error|FATAL|PANIC): +(.*)/.exec(output)?.[1] ?? output.split('\n').at(-1) ?? output
}

function writeSecret(file: string, secret: string): void {
  fs.writeFileSync(file, secret, { mode: 0o600, flush: true })
  giveToServerUser(file)
}

/** What a process killed in its first start left beside `dir`. */
function removeAbandoned(dir: string): void {
  const prefix = `${path.basename(dir)}.new-`
  for (const name of fs.readdirSync(path.dirname(dir)).filter((entry) => entry.startsWith(prefix))) {
    const left = path.join(path.dirname(dir), name)
    // oxlint-disable-next-line no-restricted-properties -- the age of a file
    const changedAt = fs.statSync(left, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
    // oxlint-disable-next-line no-restricted-properties -- the age of a file
    if (changedAt < Date.now() - ABANDONED_AFTER_MS) fs.rmSync(left, { recursive: true, force: true })
  }
}
