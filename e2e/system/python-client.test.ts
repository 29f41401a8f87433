import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type System, startSystem } from '../in-process/start-system.ts'

/*
 * requests-oauthlib, unmodified, as Debian packages it (`python3-requests-oauthlib`, which brings PyJWT). Other client
 * libraries: `e2e/in-process/foreign-clients.test.ts`.
 */

const run = promisify(execFile)
/** Debian's, whose packages another Python on the `PATH` does not see. */
const PYTHON = '/usr/bin/python3'
const SCRIPT = new URL('requests-oauthlib.py', import.meta.url).pathname

let system: System
beforeAll(async () => {
  await run(PYTHON, ['-c', 'import requests_oauthlib']).catch((cause: unknown) => {
    const name = 'python3-requests-oauthlib'
    throw new Error(`Missing: ${name}. On Debian: apt-get install ${name}`, { cause })
  })
  system = await startSystem()
})
afterAll(() => system[Symbol.asyncDispose]())

test.for(['basic', 'post', 'key-with-kid', 'key-without-kid'])(
  'with requests-oauthlib, an agent gets, renews and revokes a token: %s',
  async (method) => {
    const env = { ...process.env, OAUTHLIB_INSECURE_TRANSPORT: '1' }
    const { stdout } = await run(PYTHON, ['-B', SCRIPT, system.origin, method], { env, timeout: 50_000 })
    expect(JSON.parse(stdout)).toEqual({
      scope: ['guides:read', 'waitlist:write'],
      read: [200, 200],
      revocation: [200, {}],
      readAfterRevocation: [200, 401],
    })
  },
)
