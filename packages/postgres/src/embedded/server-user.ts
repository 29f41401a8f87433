import { execFileSync } from 'node:child_process'

interface User {
  readonly uid: number
  readonly gid: number
}

const USER_NAME = 'plainpath-postgres'
/** Other programs may also run as this user, and can then read its files. */
export const NOBODY: User = { uid: 65_534, gid: 65_534 }
const COMMAND_TIMEOUT_MS = 10_000

let userForRoot: User | undefined

/**
 * Returns the user that runs the server, or undefined if it is the user of this program. PostgreSQL refuses to run as
 * root, so root creates a separate user. If that fails, warns once and returns `nobody`.
 */
export function getServerUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined
  userForRoot ??= findUser() ?? createUser() ?? warnAndUseNobody()
  return userForRoot
}

function findUser(): User | undefined {
  const [, , uid, gid] = run('getent', ['passwd', USER_NAME])?.split(':') ?? []
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}

/** Creates the user. If several processes do so at the same time, one succeeds, and the others find its user. */
function createUser(): User | undefined {
  const options = [
    '--system',
    '--user-group',
    '--no-create-home',
    '--home-dir=/',
    '--shell=/usr/sbin/nologin',
  ]
  run('useradd', [...options, '--comment=embedded PostgreSQL of Plainpath', USER_NAME])
  return findUser()
}

function warnAndUseNobody(): User {
  process.emitWarning(
    `Root cannot make the user ${USER_NAME} here. The embedded PostgreSQL runs as nobody: other programs of that user can read its data.`,
  )
  return NOBODY
}

/**
 * Runs a program.
 *
 * @returns its output; undefined if it fails or does not exist
 */
function run(program: string, args: readonly string[]): string | undefined {
  try {
    return execFileSync(program, args, {
      encoding: 'utf8',
      timeout: COMMAND_TIMEOUT_MS,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  } catch {
    return undefined
  }
}
