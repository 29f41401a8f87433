import { reserveFreePorts } from '@plainpath/http/free-ports'
import type { AppName } from '@plainpath/metadata'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openSystemEnvironment } from '../system-environment.ts'
import { type AppProcess, startProcess } from './start-process.ts'

/** Far more than the difference from the clock of the database that an instance tolerates. */
const HOUR_MS = 3_600_000
/** A module that shifts the clock of the process by `WRONG_BY_MS`. */
const PRELOAD = new URL('../wrong-clock.ts', import.meta.url).href

interface RunningApp extends AppProcess {
  readonly operationsUrl: string
}

const resources = new AsyncDisposableStack()
/** In order: an instance with the right time, one that is an hour ahead and, for auth, one that is an hour behind. */
const auth: RunningApp[] = []
const api: RunningApp[] = []
let agent: { client_id: string; client_secret: string }
beforeAll(async () => {
  const system = resources.use(await openSystemEnvironment('http://localhost:1'))
  const start = async (app: AppName, wrongByMs: number, internal: number) => {
    const [port = 0, operations = 0] = await reserveFreePorts(2)
    const wrongClock = { NODE_OPTIONS: `--import=${PRELOAD}`, WRONG_BY_MS: String(wrongByMs) }
    const ports = { public: port, operations, internal }
    const running = await startProcess(app, system.env, ports, wrongByMs === 0 ? {} : wrongClock)
    return { ...resources.use(running), operationsUrl: `http://127.0.0.1:${operations}` }
  }
  const internalPorts = await reserveFreePorts(3)
  for (const [index, wrongByMs] of [0, HOUR_MS, -HOUR_MS].entries())
    auth.push(await start('auth', wrongByMs, internalPorts[index] ?? 0))
  for (const wrongByMs of [0, HOUR_MS]) api.push(await start('resource', wrongByMs, internalPorts[0] ?? 0))
  const registration = await fetch(`${auth[0]?.url}/api/agent/register`, { method: 'POST' })
  agent = (await registration.json()) as typeof agent
}, 120_000)
afterAll(() => resources.disposeAsync(), 120_000)

const requestToken = (index: number) =>
  fetch(`${auth[index]?.url}/oauth/token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${agent.client_id}:${agent.client_secret}`).toString('base64')}`,
    },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
const issueToken = async () =>
  ((await (await requestToken(0)).json()) as { access_token: string }).access_token
const getGuidesStatus = async (index: number, headers = {}) =>
  (await fetch(`${api[index]?.url}/api/guides`, { headers })).status
const getReadinessStatus = async (app: RunningApp | undefined) =>
  (await fetch(`${app?.operationsUrl}/ready`)).status

describe('an instance with a wrong clock is not ready and refuses work with tokens, and the others keep working:', () => {
  test.for([
    ['ahead', 1],
    ['behind', 2],
  ] as const)('an hour %s at the authorization server', { timeout: 60_000 }, async ([_direction, index]) => {
    await expect.poll(() => getReadinessStatus(auth[index]), { timeout: 30_000 }).toBe(503)
    expect(await getReadinessStatus(auth[0])).toBe(200)
    const refusal = await requestToken(index)
    expect([refusal.status, refusal.headers.get('retry-after')]).toEqual([
      503,
      expect.stringMatching(/^\d+$/),
    ])
    expect(await refusal.json()).toMatchObject({ error: 'temporarily_unavailable' })
    expect((await requestToken(0)).status).toBe(200)
    expect(auth[index]?.outputLines.join('\n')).toContain('the clock of this machine differs')
  })

  test('an hour ahead at the API', { timeout: 60_000 }, async () => {
    await expect.poll(() => getReadinessStatus(api[1]), { timeout: 30_000 }).toBe(503)
    expect(await getReadinessStatus(api[0])).toBe(200)
    const headers = { authorization: `Bearer ${await issueToken()}` }
    expect([await getGuidesStatus(0, headers), await getGuidesStatus(1, headers)]).toEqual([200, 503])
    // Public reads do not depend on the clock.
    expect(await getGuidesStatus(1)).toBe(200)
  })
})
