import { MINUTE_MS } from '@plainpath/domain'
import { startRedis, type TestRedis } from '@plainpath/http/testing/start-redis'
import { getRevocationChannel, parseNotification, REVOCATION, type Revocation } from '@plainpath/revocation'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { countRowsFrom, type SignInSystem, startSignInSystem, Tab } from './sign-in-client.ts'
import {
  beginVerification,
  confirmAgent,
  createAddress,
  findLinkSecret,
  openClaimPage,
  pressButton,
  sayNo,
} from './verification-client.ts'

/*
 * In these tests a revocation is committed, but publishing it fails once. A person then sends the same form again. The Redis
 * server denies the instance its channel for the first request.
 */

const resources = new AsyncDisposableStack()
let redis: TestRedis
let admin: Redis
let system: SignInSystem
const published: Revocation[] = []
beforeAll(async () => {
  redis = resources.use(await startRedis())
  const connect = (username: string) => new Redis(redis.url, { username, password: 'secret' })
  const setup = new Redis(redis.url)
  for (const name of ['admin', 'subscriber'])
    await setup.call('ACL', 'SETUSER', name, 'on', '>secret', '+@all', '~*', '&*')
  setup.disconnect()
  admin = connect('admin')
  resources.defer(() => admin.disconnect())
  const subscriber = connect('subscriber')
  resources.defer(() => subscriber.disconnect())
  subscriber.on('message', (_channel: string, text: string) => {
    const notification = parseNotification(text)
    if (notification) published.push(notification.revoked)
  })
  await subscriber.subscribe(getRevocationChannel(REVOCATION.name))
  system = resources.use(await startSignInSystem({ AUTH_REDIS_URL: redis.url }))
})
afterAll(() => resources.disposeAsync())
beforeEach(() => {
  published.length = 0
})

/** Sends a request while the instance may not publish, and expects that it fails. */
async function failToPublish(request: () => Promise<{ status: number }>): Promise<void> {
  await admin.call('ACL', 'SETUSER', 'default', 'resetchannels')
  expect((await request()).status).toBeGreaterThanOrEqual(500)
  await admin.call('ACL', 'SETUSER', 'default', 'allchannels')
  expect(published).toEqual([])
}
/** Waits for notifications, because they may arrive after the response. */
const expectPublished = (revocations: readonly Revocation[]) =>
  expect.poll(() => published).toEqual(revocations)
const countLive = (agentIds: readonly string[]) =>
  countRowsFrom(system, 'claims where ended_at is null and agent_id = any($1)', [agentIds])

test('"No" publishes the revocation if the first "No" could not', async () => {
  const { agent, email } = await confirmAgent(system)
  const attempt = await beginVerification(system, { agent, email })
  await failToPublish(() => sayNo(system.auth, attempt))
  expect(await countLive([agent.client_id])).toBe(0)
  expect((await sayNo(system.auth, attempt)).status).toBe(200)
  await expectPublished([{ kind: 'client', id: agent.client_id }])
})

test('after an "End all" that could not publish, the page has a button that publishes the revocation of each agent', async () => {
  const email = createAddress()
  const { agent: firstAgent } = await confirmAgent(system, { email })
  const findMail = () =>
    system.mailServer.received.find(({ to, text }) => to.includes(email) && text.includes('/claim?end='))
  await expect.poll(findMail).toBeDefined()
  const secret = findLinkSecret(findMail()?.text ?? '')
  const { agent: secondAgent } = await confirmAgent(system, { email })
  // What another test ended at the same time would be published, too.
  system.clock.now = new Date(system.clock.now.getTime() + 1)
  const endAll = () => pressButton(system.auth, { end: secret, all: 'yes' })
  const agentIds = [firstAgent.client_id, secondAgent.client_id]
  await failToPublish(endAll)
  expect(await countLive(agentIds)).toBe(0)
  const page = await openClaimPage(system.auth, { end: secret })
  expect([page.status, page.text]).toEqual([410, expect.stringContaining(`value="${secret}"`)])
  expect(page.text).toContain('<button class="second" type="submit" name="all" value="yes">End it again')
  const repeatedPage = await endAll()
  expect([repeatedPage.status, repeatedPage.text]).toEqual([410, expect.not.stringContaining(secret)])
  await expect.poll(() => published).toHaveLength(2)
  expect(published).toEqual(expect.arrayContaining(agentIds.map((id) => ({ kind: 'client', id }))))
  system.clock.now = new Date(system.clock.now.getTime() + 2 * MINUTE_MS)
  expect((await openClaimPage(system.auth, { end: secret })).text).not.toContain(secret)
})

test('"Deny" publishes the revocation of an allowed sign-in if the first "Deny" could not', async () => {
  const tab = await Tab.open(system)
  const code = await tab.requestCode()
  // The request with the code finds the app once, but not a second time, so that only its response fails.
  const { app } = tab
  const originalGet = system.apps.get.bind(system.apps)
  let lookups = 0
  system.apps.get = (id) => {
    lookups += 1
    return lookups === 1 ? originalGet(id) : undefined
  }
  expect((await tab.submit('code', { code })).status).toBe(404)
  system.apps.get = originalGet
  await tab.reload()
  const { rows } = await system.testbed.db.query<{ id: string }>(
    'select id from agents where app_client_id = $1',
    [app.id],
  )
  const agentId = rows[0]?.id ?? ''
  expect(await countLive([agentId])).toBe(1)
  const form = tab.page
  await failToPublish(() => tab.submit('deny'))
  expect(await countLive([agentId])).toBe(0)
  tab.page = form
  expect((await tab.followToApp(await tab.submit('deny'))).searchParams.get('error')).toBe('access_denied')
  await expectPublished([{ kind: 'client', id: agentId }])
})
