import { RULES } from '@plainpath/domain'
import { startRedis } from '@plainpath/http/testing/start-redis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type AppSystem,
  connectApp,
  findConnectionIds,
  isActiveAtEachInstance,
  readTokens,
  refresh,
  startAppSystem,
} from './app-flow.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { expectProblem, UNAVAILABLE } from './expect-refusal.ts'
import { type StoreProxy, startStoreProxy } from './start-store-proxy.ts'

const resources = new AsyncDisposableStack()
let proxy: StoreProxy
let system: AppSystem
beforeAll(async () => {
  const redis = resources.use(await startRedis())
  proxy = resources.use(await startStoreProxy(redis.url, 6379))
  const env = { AUTH_REDIS_URL: proxy.url }
  system = resources.use(await startAppSystem('Postgres', { env, redisTimeoutMs: 300 }))
})
afterAll(async () => {
  await expectNoConfidentialValues(system.auth)
  await resources.disposeAsync()
})

test.for([
  ['refuses connections', () => proxy.refuse()],
  ['accepts connections but does not respond', async () => proxy.silence()],
] satisfies [string, () => Promise<void>][])(
  'a refresh gets 503 while Redis %s, and the refresh token works after its grace period, without a mail',
  async ([, fail]) => {
    const { app, ...tokens } = await connectApp(system)
    const { verificationId } = await findConnectionIds(system, tokens.access)
    await fail()
    for (const instance of [system.auth, system.otherInstance])
      expectProblem(await refresh(instance, app, tokens.refresh), UNAVAILABLE)
    system.clock.now = new Date(system.clock.now.getTime() + RULES.refreshGraceMs + 1)
    await proxy.restore()
    let response = await refresh(system.auth, app, tokens.refresh)
    const repeatRefresh = async () => {
      if (response.status === 503) response = await refresh(system.auth, app, tokens.refresh)
      return response.status
    }
    await expect.poll(repeatRefresh).not.toBe(503)
    const newTokens = readTokens(system.auth, response)
    for (const { access } of [tokens, newTokens])
      await expect.poll(() => isActiveAtEachInstance(system, access)).toEqual([true, true])
    expect(await system.stores.verifications.find(verificationId)).not.toHaveProperty('endedBy')
    const { rowCount } = await system.auth.testbed.db.query(
      `select from mails where kind = 'claim-ended' and about = $1`,
      [verificationId],
    )
    expect(rowCount).toBe(0)
  },
)
