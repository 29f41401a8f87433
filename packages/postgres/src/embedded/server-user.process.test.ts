import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { NOBODY } from './server-user.ts'

const PROGRAM = `import { getServerUser } from '${path.join(import.meta.dirname, 'server-user.ts')}'
console.log(JSON.stringify(getServerUser() ?? null))`

/**
 * Asks another process, since the choice is made once in each.
 *
 * @param programs where it finds useradd and getent
 */
async function choose(programs: string | undefined) {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', PROGRAM],
    { env: { PATH: programs } },
  )
  return { user: JSON.parse(stdout) as unknown, stderr }
}

test.runIf(process.getuid?.() === 0)(
  'root who cannot make a user runs the server as nobody, and is warned that others can read its data',
  async () => {
    const { user, stderr } = await choose('/nonexistent')
    expect(user).toEqual(NOBODY)
    expect(stderr).toMatch(
      /cannot make the user plainpath-postgres.*other programs of that user can read its data/,
    )
    const able = await choose(process.env['PATH'])
    expect(able.user).not.toEqual(NOBODY)
    expect(able.stderr).toBe('')
  },
)
