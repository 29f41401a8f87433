import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { basic, SIGNED } from './agent-client.ts'
import { commandWaits } from './command-waits.ts'
import { openAuthStores } from './open-auth-stores.ts'
import { runAuth } from './run-auth.ts'
import { send } from './send.ts'
import { ORIGIN, startInstance } from './start-auth.ts'

const UNKNOWN_TOKEN = `ppt_${'A'.repeat(43)}`
/** Longer than a lease and the command's wait. */
const MINUTE = { timeout: 60_000 }

test('the secret of an API is replaced under the default leases, and a command waits for an instance that is behind', {
  timeout: 180_000,
}, async () => {
  await using stores = await openAuthStores()
  await using resources = new AsyncDisposableStack()
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-credential-'))
  resources.defer(() => rm(folder, { recursive: true }))
  const env = await stores.settingsFor(ORIGIN)
  const serversFile = env['AUTH_RESOURCE_SERVERS_FILE'] ?? ''
  const mounted = path.join(folder, 'mounted-elsewhere.json')
  const secretFile = path.join(folder, 'client-secret')
  const old = stores.secrets.rs_api
  await writeFile(secretFile, `${old}\n`, { mode: 0o600 })
  await copyFile(serversFile, mounted)
  const auth = resources.use(await startInstance(stores, { env: { AUTH_RESOURCE_SERVERS_FILE: mounted } }))
  const run = (...words: string[]) => runAuth(['resource-servers', ...words], env)
  const rotate = () => run('rotate', 'rs_api', '--secret-file', secretFile, '--replace')
  const introspects = async (secret: string) => {
    const headers = { ...SIGNED, ...basic('rs_api', secret) }
    const body = new URLSearchParams({ token: UNKNOWN_TOKEN })
    return (await send(auth.internalUrl, { method: 'POST', path: '/oauth/introspect', headers, body })).status
  }

  const startedAt = performance.now()
  expect(await rotate()).toMatchObject({ code: 1, errors: expect.stringContaining('The API keeps the old') })
  // A lease of 15 s, and 10 s.
  expect(performance.now() - startedAt).toBeGreaterThan(24_000)
  await copyFile(serversFile, mounted)
  expect((await rotate()).code).toBe(0)
  const next = (await readFile(secretFile, 'utf8')).trim()
  expect([await introspects(old), await introspects(next)]).toEqual([200, 200])

  const finish = () => run('finish', 'rs_api', '--timeout', '1')
  const finishing = async () => {
    expect(await introspects(next)).toBe(200)
    return (await finish()).errors
  }
  expect(await finishing()).toMatch(/It must be for 15 s/)
  await expect.poll(finishing, { ...MINUTE, interval: 1_000 }).toContain('may still be accepted by')
  const resumed = run('finish', 'rs_api')
  await commandWaits(stores.db)
  await copyFile(serversFile, mounted)
  expect(await resumed).toMatchObject({ code: 0, errors: '' })
  expect(await introspects(old)).toBe(401)
  expect(await introspects(next)).toBe(200)
})
