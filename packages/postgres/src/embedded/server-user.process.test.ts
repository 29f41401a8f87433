import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { NOBODY } from './server-user.ts'

const PROGRAM = `import { getServerUser } from '${path.join(import.meta.dirname, 'server-user.ts')}'
console.log(JSON.stringify(getServerUser() ?? null))`

/**
 * Chooses the user in another process, because each process chooses only once.
 *
 * @param programPath the PATH on which it finds useradd and getent
 */
async function chooseUser(programPath: string | undefined) {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', PROGRAM],
    { env: { PATH: programPath } },
  )
  return { user: JSON.parse(stdout) as unknown, stderr }
}

test.runIf(process.getuid?.() === 0)(
  'runs the server as nobody, with a warning, only if root cannot create a user',
  async () => {
    const { user, stderr } = await chooseUser('/nonexistent')
    expect(user).toEqual(NOBODY)
    expect(stderr).toMatch(
      /cannot make the user plainpath-postgres.*other programs of that user can read its data/,
    )
    const choice = await chooseUser(process.env['PATH'])
    expect(choice.user).not.toEqual(NOBODY)
    expect(choice.stderr).toBe('')
  },
)
