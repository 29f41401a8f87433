import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { loadConfig as loadAuthConfig } from '@plainpath/auth/config'
import { openAuth } from '@plainpath/auth/wire'
import { createLog, type RequestHandler, serve } from '@plainpath/http'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import { TEST_SERVER_OPTIONS } from '@plainpath/http/testing/test-server-options'
import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import type { AppName } from '@plainpath/metadata'
import { loadConfig as loadResourceConfig } from '@plainpath/resource/config'
import { openResource } from '@plainpath/resource/wire'
import { findDebianPrograms } from '@plainpath/stack/debian-program'
import { type RunningRedis, startRedis } from '@plainpath/stack/start-redis'
import { Redis } from 'ioredis'
import { type FaultProxy, startFaultProxy } from '../faults/fault-proxy.ts'
import { basic, createSender, form, type Sender } from '../send.ts'
import { openSystemEnvironment } from '../system-environment.ts'
import { createMailSettings } from '../verification-steps.ts'

export interface Client {
  readonly client_id: string
  readonly client_secret: string
}

/** Two instances of each app in this process, and a Redis of their own. Instances are numbered 0 and 1. */
export interface CachedSystem extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>
  readonly redis: RunningRedis
  /** A connection to Redis as its administrator. */
  readonly redisAdmin: Redis
  /** The fault proxy between the first API and Redis. */
  readonly redisProxy: FaultProxy
  /** The fault proxy between the first API and the first auth instance. */
  readonly authProxy: FaultProxy
  /** The log lines of all instances. */
  readonly logLines: readonly string[]
  readonly mail: MailServer
  /** Sends requests to the first auth instance. */
  readonly authSender: Sender
  /** Registers a client at the first auth instance. */
  registerClient(): Promise<Client>
  /** Requests a token at the first auth instance. */
  issueToken(client: Client): Promise<string>
  /** Revokes a token at an auth instance, and returns the status. */
  revoke(client: Client, token: string, instance?: number): Promise<number>
  /** Deletes a client at an auth instance, and returns the status. */
  deleteClient(client: Client, instance?: number): Promise<number>
  /** Reads the guides with the token at an API instance, and returns the status. */
  readGuides(token: string, instance?: number): Promise<number>
  /** Reads the value of a metric, or of its first series if it has labels. Returns NaN if there is none. */
  readMetric(app: AppName, name: string, instance?: number): Promise<number>
}
/** The origin in the settings. Nothing listens there: each instance has a port of its own. */
const ORIGIN = 'http://localhost:8080'

/** Starts the system, with Debian's `redis-server`. */
export async function startCachedSystem(): Promise<CachedSystem> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-cached-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const { 'redis-server': program } = await findDebianPrograms(['redis-server'], process.env['PATH'] ?? '')
  const [port = 0] = await reserveFreePorts(1)
  const redis = opening.use(await startRedis({ program, port, folder }))
  const redisProxy = opening.use(await startFaultProxy({ host: '127.0.0.1', port }))
  const system = opening.use(await openSystemEnvironment(ORIGIN))
  const mail = opening.use(await startMailServer())
  const env = {
    ...system.env,
    ...createMailSettings(mail),
    AUTH_REDIS_URL: redis.urls.auth,
    RESOURCE_REDIS_URL: redis.urls.resource,
  }
  const logLines: string[] = []
  const log = createLog({ service: 'e2e', write: (line) => logLines.push(line) })
  const deps = { log, now: () => new Date() }

  const authInstances = await Promise.all(
    [0, 1].map(async () => {
      const auth = opening.use(await openAuth(loadAuthConfig(env), { ...deps, redisTimeoutMs: 1_000 }))
      const sender = opening.use(createSender((await listen(auth.publicApp.callback())).url))
      const operations = opening.use(createSender((await listen(auth.operationsApp.callback())).url))
      return { sender, operations, internal: await listen(auth.internalApp.callback()) }
    }),
  )
  async function listen(handler: RequestHandler) {
    return opening.use(await serve(handler, TEST_SERVER_OPTIONS))
  }
  const authProxy = opening.use(
    await startFaultProxy({ host: '127.0.0.1', port: authInstances[0]!.internal.port }),
  )
  const proxiedRedisUrl = new URL(redis.urls.resource)
  proxiedRedisUrl.port = String(redisProxy.port)
  const apiInstances = await Promise.all(
    [
      { RESOURCE_AUTH_URL: `http://127.0.0.1:${authProxy.port}`, RESOURCE_REDIS_URL: proxiedRedisUrl.href },
      { RESOURCE_AUTH_URL: authInstances[1]!.internal.url },
    ].map(async (ownSettings) => {
      const api = opening.use(await openResource(loadResourceConfig({ ...env, ...ownSettings }), deps))
      const sender = opening.use(createSender((await listen(api.handler)).url))
      const operations = opening.use(createSender((await listen(api.operationsApp.callback())).url))
      return { sender, operations }
    }),
  )
  const admin = new Redis(redis.adminUrl, { maxRetriesPerRequest: 20, retryStrategy: () => 50 })
  // Tests restart Redis. Without a listener, ioredis prints each failed attempt to connect.
  admin.on('error', () => {})
  opening.defer(() => admin.disconnect())
  const resources = opening.move()
  const host = new URL(ORIGIN).host
  const send = (sender: Sender, request: Parameters<Sender['send']>[0]) =>
    sender.send({ ...request, headers: { host, ...request.headers } })
  const post = (instance: number, endpoint: string, client: Client, body: Record<string, string>) => {
    const headers = { ...form(body).headers, ...basic(client.client_id, client.client_secret) }
    return send(authInstances[instance]!.sender, { method: 'POST', path: endpoint, ...form(body), headers })
  }
  return {
    env,
    redis,
    redisAdmin: admin,
    redisProxy,
    authProxy,
    logLines,
    mail,
    authSender: {
      send: (request) => send(authInstances[0]!.sender, request),
      [Symbol.dispose]: () => undefined,
    },
    async registerClient() {
      const { text } = await send(authInstances[0]!.sender, { method: 'POST', path: '/api/agent/register' })
      return JSON.parse(text) as Client
    },
    async issueToken(client) {
      const { text } = await post(0, '/oauth/token', client, { grant_type: 'client_credentials' })
      return (JSON.parse(text) as { access_token: string }).access_token
    },
    revoke: async (client, token, instance = 0) =>
      (await post(instance, '/oauth/revoke', client, { token })).status,
    async deleteClient(client, instance = 0) {
      const headers = basic(client.client_id, client.client_secret)
      return (await send(authInstances[instance]!.sender, { method: 'DELETE', path: '/api/agent', headers }))
        .status
    },
    async readGuides(token, instance = 0) {
      const headers = { authorization: `Bearer ${token}` }
      return (await send(apiInstances[instance]!.sender, { path: '/api/guides', headers })).status
    },
    async readMetric(app, name, instance = 0) {
      const { text } = await { auth: authInstances, resource: apiInstances }[app][instance]!.operations.send({
        path: '/metrics',
      })
      return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1])
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
