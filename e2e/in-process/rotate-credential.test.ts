import { readFile, stat, writeFile } from 'node:fs/promises'
import { setInterval as every } from 'node:timers/promises'
import { loadConfig as loadAuthConfig } from '@plainpath/auth/config'
import { runAuth } from '@plainpath/auth/run-auth'
import { openAuth } from '@plainpath/auth/wire'
import { createLog, type RequestHandler, serve } from '@plainpath/http'
import { TEST_SERVER_OPTIONS } from '@plainpath/http/testing/test-server-options'
import { createServiceUrls } from '@plainpath/metadata'
import { loadConfig as loadResourceConfig } from '@plainpath/resource/config'
import { openResource } from '@plainpath/resource/wire'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSystemEnvironment } from '../system-environment.ts'

/*
 * Changes the credential with which the API introspects tokens, with two instances of each app in this process. Each API instance
 * uses its own auth instance.
 */

/** The command `finish` requires that the new secret has been known, and the old one unused, for a lease. */
const SHORT_INTERVALS = { AUTH_KEYS_POLL_SECONDS: '0.2', AUTH_KEYS_LEASE_SECONDS: '3' }

const resources = new AsyncDisposableStack()
const apiUrls: string[] = []
const operationsUrls: string[] = []
const logLines: string[] = []
let env: Record<string, string>
let issueToken: () => Promise<string>
beforeAll(async () => {
  const deps = {
    log: createLog({ service: 'e2e', write: (line) => void logLines.push(line) }),
    now: () => new Date(),
  }
  const startServer = async () => {
    let handler: RequestHandler = (_request, response) => response.writeHead(503).end()
    const server = resources.use(
      await serve((request, response) => handler(request, response), TEST_SERVER_OPTIONS),
    )
    const respondWith = (next: RequestHandler) => {
      handler = next
    }
    return { url: `http://localhost:${server.port}`, respondWith }
  }
  const firstServer = await startServer()
  const limitsFactor = 1_000_000
  const system = resources.use(await openSystemEnvironment(firstServer.url, limitsFactor))
  env = { ...system.env, ...SHORT_INTERVALS }
  const getHost = (url: string) => new URL(url).host
  for (const publicServer of [firstServer, await startServer()]) {
    const auth = resources.use(
      await openAuth(loadAuthConfig({ ...env, AUTH_ALSO_ACCEPT_HOSTS: getHost(publicServer.url) }), {
        ...deps,
        ...system.dependencies,
      }),
    )
    publicServer.respondWith(auth.publicApp.callback())
    const internal = resources.use(await serve(auth.internalApp.callback(), TEST_SERVER_OPTIONS))
    operationsUrls.push(resources.use(await serve(auth.operationsApp.callback(), TEST_SERVER_OPTIONS)).url)
    const api = await startServer()
    const config = loadResourceConfig({
      ...env,
      RESOURCE_AUTH_URL: internal.url,
      RESOURCE_ALSO_ACCEPT_HOSTS: getHost(api.url),
    })
    api.respondWith(resources.use(await openResource(config, { ...deps, ...system.dependencies })).handler)
    apiUrls.push(api.url)
  }
  const urls = createServiceUrls(firstServer.url)
  const agent = (await (await fetch(urls.register, { method: 'POST' })).json()) as Record<string, string>
  const basic = Buffer.from(`${agent['client_id']}:${agent['client_secret']}`).toString('base64')
  issueToken = async () => {
    const response = await fetch(urls.token, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    })
    return ((await response.json()) as { access_token: string }).access_token
  }
})
afterAll(() => resources.disposeAsync())

/** Reads guides with a new token, which the API must introspect with its credential. Returns the status. */
async function readGuides(api: string): Promise<number> {
  const headers = { authorization: `Bearer ${await issueToken()}` }
  const response = await fetch(`${api}/api/guides?limit=1`, { headers })
  await response.text()
  return response.status
}

/** The interval at which a request to each API is due. */
const READ_INTERVAL_MS = 20

/** Reads guides at each API, one request after another. Returns a function that stops this and returns the statuses. */
function readGuidesSteadily() {
  const statuses: number[] = []
  let isStopping = false
  const loops = apiUrls.map(async (api) => {
    for await (const _tick of every(READ_INTERVAL_MS)) {
      if (isStopping) break
      statuses.push(await readGuides(api))
    }
  })
  return async () => {
    isStopping = true
    await Promise.all(loops)
    return statuses
  }
}

const runCommand = (...args: string[]) => runAuth(['resource-servers', ...args], env)
const getClientId = () => env['RESOURCE_CLIENT_ID'] ?? ''
const getSecretFile = () => env['RESOURCE_CLIENT_SECRET_FILE'] ?? ''
const getServersFile = () => env['AUTH_RESOURCE_SERVERS_FILE'] ?? ''
const readSecretHashes = async () =>
  (JSON.parse(await readFile(getServersFile(), 'utf8')) as { secrets: string[] }[])[0]?.secrets ?? []

test('no request fails while the API credential is changed and the old one removed', async () => {
  const oldSecret = await readFile(getSecretFile(), 'utf8')
  const stopReading = readGuidesSteadily()
  const commandErrors: string[] = []
  for (let round = 0; round < 2; round += 1) {
    const rotation = await runCommand('rotate', getClientId(), '--secret-file', getSecretFile(), '--replace')
    expect(rotation).toMatchObject({ code: 0, printed: expect.stringContaining('Both secrets are valid.') })
    commandErrors.push(rotation.errors)
    expect(rotation.errors).toMatch(/^\{.*"event":"api-secret-added".*\}$/)
    expect(await readSecretHashes()).toHaveLength(2)
    const finish = async () => (await runCommand('finish', getClientId())).code
    // The new secret has been known, and the old one unused, for less than a lease, so the command refuses.
    expect(await finish()).toBe(1)
    await expect.poll(finish, { timeout: 20_000, interval: 100 }).toBe(0)
    expect(await readSecretHashes()).toHaveLength(1)
  }
  const statuses = await stopReading()
  // Without many requests, the absence of failures would prove little.
  expect(statuses.length).toBeGreaterThan(50)
  expect(statuses.filter((status) => status !== 200)).toEqual([])
  const newSecret = await readFile(getSecretFile(), 'utf8')
  expect(newSecret).not.toBe(oldSecret)
  for (const file of [getSecretFile(), getServersFile()]) expect((await stat(file)).mode & 0o777).toBe(0o600)
  for (const secret of [oldSecret, newSecret])
    expect([...logLines, ...commandErrors].join('')).not.toContain(secret.trim().slice('rss_'.length))
}, 60_000)

test('an invalid file of resource servers has no effect, logs an error, and is read again once it is valid', async () => {
  const validText = await readFile(getServersFile(), 'utf8')
  const readReadiness = async () =>
    (await (await fetch(`${operationsUrls[0]}/ready`)).json()) as { resource_servers: { problem?: string } }
  // The first 40 characters are not valid JSON.
  await writeFile(getServersFile(), validText.slice(0, 40))
  await expect.poll(async () => (await readReadiness()).resource_servers.problem).toBeDefined()
  expect(await Promise.all(apiUrls.map(readGuides))).toEqual([200, 200])
  expect((await fetch(`${operationsUrls[0]}/ready`)).status).toBe(200)
  expect(await (await fetch(`${operationsUrls[0]}/metrics`)).text()).toContain(
    'resource_servers_readable{service="auth"} 0',
  )
  expect(logLines.filter((line) => line.includes('cannot be loaded')).length).toBeGreaterThan(0)
  await writeFile(getServersFile(), validText)
  await expect.poll(async () => (await readReadiness()).resource_servers.problem).toBeUndefined()
})
