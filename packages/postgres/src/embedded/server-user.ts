import { execFileSync } from 'node:child_process'

interface User {
  readonly uid: number
  readonly gid: number
}

const NAME = 'plainpath-postgres'
/** Other programs run as this user, too, and may read what belongs to it. */
export const NOBODY: User = { uid: 65_534, gid: 65_534 }
const COMMAND_MS = 10_000

let rootsChoice: User | undefined

/**
 * The user that the server runs as. Undefined for ours; root, as whom PostgreSQL refuses to run, makes a user for it alone.
 * Where it cannot, the server runs as `nobody`, after a warning.
 */
export function serverUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined
  rootsChoice ??= findUser() ?? makeUser() ?? nobodyWithWarning()
  return rootsChoice
}

function findUser(): User | undefined {
  const [, , uid, gid] = run('getent', ['passwd', NAME])?.split(':') ?? []
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}

/** Of several processes that make it at once one succeeds, and the others find it. */
function makeUser(): User | undefined {
  const options = [
    '--system',
    '--user-group',
    '--no-create-home',
    '--home-dir=/',
    '--shell=/usr/sbin/nologin',
  ]
  run('useradd', [...options, '--comment=embedded PostgreSQL of Plainpath', NAME])
  return findUser()
}

function nobodyWithWarning(): User {
  process.emitWarning(
    `Root cannot make the user ${NAME} here. The embedded PostgreSQL runs as nobody: other programs of that user can read its data.`,
  )
  return NOBODY
}

/** @returns what it printed; undefined when it failed or is not there */
function run(program: string, args: readonly string[]): string | undefined {
  try {
    return execFileSync(program, args, {
      encoding: 'utf8',
      timeout: COMMAND_MS,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  } catch {
    return undefined
  }
}
