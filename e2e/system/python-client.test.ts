import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type System, startSystem } from '../in-process/start-system.ts'

/*
 * Tests with an unmodified requests-oauthlib, from the Debian package `python3-requests-oauthlib`, which also installs
 * PyJWT. For other client libraries, see `e2e/in-process/foreign-clients.test.ts`.
 */

const runProgram = promisify(execFile)
/** Debian's Python. Another Python on the `PATH` does not find Debian's packages. */
const PYTHON = '/usr/bin/python3'
const SCRIPT = new URL('requests-oauthlib.py', import.meta.url).pathname

let system: System
beforeAll(async () => {
  await runProgram(PYTHON, ['-c', 'import requests_oauthlib']).catch((cause: unknown) => {
    const name = 'python3-requests-oauthlib'
    throw new Error(`Missing: ${name}. On Debian: apt-get install ${name}`, { cause })
  })
  system = await startSystem()
})
afterAll(() => system[Symbol.asyncDispose]())

test.for(['basic', 'post', 'key-with-kid', 'key-without-kid'])(
  'with requests-oauthlib, an agent gets two tokens and revokes one: %s',
  async (method) => {
    // oauthlib refuses plain http without this variable.
    const env = { ...process.env, OAUTHLIB_INSECURE_TRANSPORT: '1' }
    const args = ['-B', SCRIPT, system.origin, method]
    const { stdout } = await runProgram(PYTHON, args, { env, timeout: 50_000 })
    expect(JSON.parse(stdout)).toEqual({
      scope: ['guides:read', 'waitlist:write'],
      // A status for each of the two tokens. The first token is the one that is not revoked.
      read: [200, 200],
      revocation: [200, {}],
      readAfterRevocation: [200, 401],
    })
  },
)
