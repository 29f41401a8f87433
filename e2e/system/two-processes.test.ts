import { readFileSync } from 'node:fs'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import type { AppName } from '@plainpath/metadata'
import { openPool } from '@plainpath/postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSystemEnvironment } from '../system-environment.ts'
import { type AppProcess, startProcess } from './start-process.ts'

const resources = new AsyncDisposableStack()
let auth: AppProcess[]
let api: AppProcess[]
let resourceDatabase: string
let secrets: readonly string[]

beforeAll(async () => {
  // Nothing listens at this origin: the tests request each process by its own address.
  const system = resources.use(await openSystemEnvironment('http://localhost:1', 1_000))
  resourceDatabase = system.adminUrls.resource
  secrets = readSecrets(system.env)
  // A public and an operations port for each of four processes, and an internal port for each auth process.
  const freePorts = await reserveFreePorts(10)
  const takePort = () => freePorts.pop() ?? 0
  const start = async (app: AppName, internalPort: number) => {
    const ports = { public: takePort(), operations: takePort(), internal: internalPort }
    return resources.use(await startProcess(app, system.env, ports))
  }
  const internalPorts = [takePort(), takePort()]
  const startBoth = async (app: AppName) => {
    const starts = internalPorts.map((internalPort) => start(app, internalPort))
    // If one process fails to start, the other must be registered for disposal before `afterAll` runs.
    await Promise.allSettled(starts)
    return Promise.all(starts)
  }
  auth = await startBoth('auth')
  api = await startBoth('resource')
}, 120_000)
afterAll(() => resources.disposeAsync())

/** The maximum number of 503 responses in the test. With more, the joins are no longer simultaneous, so the test gives up and fails. */
const MAX_REFUSALS = 1_000

const getUrl = (processes: readonly AppProcess[], index: number) =>
  processes[index % processes.length]?.url ?? ''

test('of 200 simultaneous joins with one address at two processes, one gets 201 and 199 get 200', async () => {
  let refusalCount = 0
  /** Repeats the request while a busy instance responds with 503. Returns the last status. */
  const join = async (index: number): Promise<number> => {
    for (;;) {
      const { status } = await fetch(`${getUrl(api, index)}/api/waitlist`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        // Two spellings of one address.
        body: JSON.stringify({ email: index % 3 ? 'race@example.org' : 'Race@EXAMPLE.org' }),
      })
      if (status !== 503) return status
      refusalCount += 1
      if (refusalCount > MAX_REFUSALS) return status
    }
  }
  const statuses = await Promise.all(Array.from({ length: 200 }, (_each, index) => join(index)))
  expect(statuses.filter((status) => status === 201)).toHaveLength(1)
  expect(statuses.filter((status) => status === 200)).toHaveLength(199)
  await using db = openPool(resourceDatabase)
  expect((await db.query('select id from waitlist_entries')).rowCount).toBe(1)
})

test('both API processes reject a token as soon as an auth process has revoked it or deleted its client', async () => {
  const registration = await fetch(`${getUrl(auth, 0)}/api/agent/register`, { method: 'POST' })
  const agent = (await registration.json()) as { client_id: string; client_secret: string }
  const authorization = `Basic ${Buffer.from(`${agent.client_id}:${agent.client_secret}`).toString('base64')}`
  const issueToken = async (index: number) => {
    const body = new URLSearchParams({ grant_type: 'client_credentials' })
    const response = await fetch(`${getUrl(auth, index)}/oauth/token`, {
      method: 'POST',
      headers: { authorization },
      body,
    })
    return ((await response.json()) as { access_token: string }).access_token
  }
  const getGuidesStatus = async (index: number, token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`${getUrl(api, index)}/api/guides`, { headers })).status
  }

  const [firstToken, secondToken] = [await issueToken(0), await issueToken(1)]
  for (const token of [firstToken, secondToken])
    expect([await getGuidesStatus(0, token), await getGuidesStatus(1, token)]).toEqual([200, 200])
  const body = new URLSearchParams({ token: firstToken })
  const revocation = await fetch(`${getUrl(auth, 1)}/oauth/revoke`, {
    method: 'POST',
    headers: { authorization },
    body,
  })
  expect(revocation.status).toBe(200)
  expect([
    await getGuidesStatus(0, firstToken),
    await getGuidesStatus(1, firstToken),
    await getGuidesStatus(1, secondToken),
  ]).toEqual([401, 401, 200])
  const deletion = await fetch(`${getUrl(auth, 0)}/api/agent`, {
    method: 'DELETE',
    headers: { authorization },
  })
  expect(deletion.status).toBe(204)
  expect([await getGuidesStatus(0, secondToken), await getGuidesStatus(1, secondToken)]).toEqual([401, 401])
})

/**
 * Reads the keys and secrets from the files that the settings name. Removes the key id (`id:`) or the prefix `rss_` from each
 * line, because only the rest is random.
 */
function readSecrets(env: Readonly<Record<string, string>>): string[] {
  const files = Object.entries(env).filter(([name]) => /_(KEK|HASH_KEY|CLIENT_SECRET)_FILE$/.test(name))
  return files.flatMap(([, file]) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => line.replace(/^rss_|^[^:]*:/, '')),
  )
}

test('no key or secret is in the arguments or the environment of a process', () => {
  expect(secrets.length).toBeGreaterThanOrEqual(5)
  for (const { child } of [...auth, ...api]) {
    const processFiles = ['cmdline', 'environ'].map((name) =>
      readFileSync(`/proc/${child.pid}/${name}`, 'utf8'),
    )
    expect(processFiles[0]?.split('\0').slice(1)).toEqual([expect.stringMatching(/main\.ts$/), 'serve', ''])
    expect(processFiles[1]).toContain('_KEK_FILE=')
    for (const secret of secrets) {
      // A shorter text could occur by chance.
      expect(secret.length).toBeGreaterThanOrEqual(22)
      expect(processFiles.join('')).not.toContain(secret)
    }
  }
})

// By default, Node opens a debugger on SIGUSR1.
test('no process opens a debugger on SIGUSR1, and all keep running', async () => {
  for (const { child } of [...auth, ...api]) child.kill('SIGUSR1')
  for (const { url, outputLines } of [...auth, ...api]) {
    for (let requestCount = 0; requestCount < 10; requestCount += 1)
      expect((await fetch(`${url}/api/nothing`)).status).toBe(404)
    expect(outputLines.join('\n')).not.toMatch(/debugger/i)
  }
})
