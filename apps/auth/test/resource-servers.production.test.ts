import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { ACCEPT_SIGNED, basicAuth } from './agent-client.ts'
import { openAuthTestbed } from './open-auth-testbed.ts'
import { runAuth } from './run-auth.ts'
import { send } from './send.ts'
import { ORIGIN, startInstance } from './start-auth.ts'
import { waitForCommandPolls } from './wait-for-command-polls.ts'

const UNKNOWN_TOKEN = `ppt_${'A'.repeat(43)}`
/** Options for polling. The timeout is longer than a lease and the default wait of the command. */
const ONE_MINUTE = { timeout: 60_000 }

test('with the default intervals, rotate and finish wait for an instance that has not loaded the new file', {
  timeout: 180_000,
}, async () => {
  await using testbed = await openAuthTestbed()
  await using resources = new AsyncDisposableStack()
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-credential-'))
  resources.defer(() => rm(folder, { recursive: true }))
  const env = await testbed.createSettings(ORIGIN)
  const serversFile = env['AUTH_RESOURCE_SERVERS_FILE'] ?? ''
  const mountedFile = path.join(folder, 'mounted-elsewhere.json')
  const secretFile = path.join(folder, 'client-secret')
  const oldSecret = testbed.secrets.rs_api
  await writeFile(secretFile, `${oldSecret}\n`, { mode: 0o600 })
  await copyFile(serversFile, mountedFile)
  const auth = resources.use(
    await startInstance(testbed, { env: { AUTH_RESOURCE_SERVERS_FILE: mountedFile } }),
  )
  const run = (...args: string[]) => runAuth(['resource-servers', ...args], env)
  const rotate = () => run('rotate', 'rs_api', '--secret-file', secretFile, '--replace')
  const getIntrospectionStatus = async (secret: string) => {
    const headers = { ...ACCEPT_SIGNED, ...basicAuth('rs_api', secret) }
    const body = new URLSearchParams({ token: UNKNOWN_TOKEN })
    return (await send(auth.internalUrl, { method: 'POST', path: '/oauth/introspect', headers, body })).status
  }

  const startedAt = performance.now()
  expect(await rotate()).toMatchObject({ code: 1, errors: expect.stringContaining('The API still uses') })
  // The command waits for a lease of 15 s, and 10 s more.
  expect(performance.now() - startedAt).toBeGreaterThan(24_000)
  await copyFile(serversFile, mountedFile)
  expect((await rotate()).code).toBe(0)
  const newSecret = (await readFile(secretFile, 'utf8')).trim()
  expect([await getIntrospectionStatus(oldSecret), await getIntrospectionStatus(newSecret)]).toEqual([
    200, 200,
  ])

  const finish = () => run('finish', 'rs_api', '--timeout', '1')
  const tryToFinish = async () => {
    expect(await getIntrospectionStatus(newSecret)).toBe(200)
    return (await finish()).errors
  }
  expect(await tryToFinish()).toMatch(/It must have been known for 15 s/)
  await expect.poll(tryToFinish, { ...ONE_MINUTE, interval: 1_000 }).toContain('may still accept it')
  const finishing = run('finish', 'rs_api')
  await waitForCommandPolls(testbed.db)
  await copyFile(serversFile, mountedFile)
  expect(await finishing).toMatchObject({ code: 0, errors: '' })
  expect(await getIntrospectionStatus(oldSecret)).toBe(401)
  expect(await getIntrospectionStatus(newSecret)).toBe(200)
})
