import { DAY_MS } from '@plainpath/domain'
import type { Revocation } from '@plainpath/revocation'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import { at, createAttempt, createLinkMail, createRedemption, START } from '../../test/example-claim.ts'
import { type AuthTestbed, openAuthTestbed } from '../../test/open-auth-testbed.ts'
import { parseSecurityEvents } from '../../test/parse-security-events.ts'
import { runAuth } from '../../test/run-auth.ts'
import { loadConfig } from '../config.ts'
import { createEvents } from '../events.ts'
import { openStores, type Stores } from '../stores.ts'
import { createVerificationStore } from '../verifications/postgres-verification-store.ts'
import { revokeGrantsAtHost } from './grants-command.ts'

let testbed: AuthTestbed
let env: Record<string, string>
let currentTime = START
beforeAll(async () => {
  testbed = await openAuthTestbed()
  env = await testbed.createSettings('https://plainpath.example')
})
afterAll(() => testbed[Symbol.asyncDispose]())

const silentLog = { info: () => undefined, warn: () => undefined, error: () => undefined }
const run = (commandLine: string) => runAuth(commandLine.split(' '), env, () => currentTime)
const readOutput = async (commandLine: string) => (await run(commandLine)).printed
const readJson = async (commandLine: string) => JSON.parse(await readOutput(`${commandLine} --json`))
/** Creates the security event of a verification that an operator revoked. */
const createEndedEvent = (id: string) => ({ event: 'claim-ended', registration_id: id, by: 'operator' })

/**
 * Creates a live verification of an agent.
 *
 * @param createdAtMs when it is created, in milliseconds after `START`
 * @returns its id
 */
async function createVerification(
  { verificationAttempts: attempts, verifications }: Stores,
  agentId: string,
  createdAtMs: number,
): Promise<string> {
  const attempt = createAttempt(agentId, { createdAt: at(createdAtMs) })
  await attempts.begin(attempt, createLinkMail(attempt))
  await attempts.showCode(attempt.id, Buffer.alloc(32), at(createdAtMs))
  const redemption = createRedemption(attempt, Buffer.alloc(32), at(createdAtMs))
  expect((await verifications.redeem(redemption)).ok).toBe(true)
  return attempt.registrationId
}

test('grants list prints no address, grants revoke revokes one grant, and grants revoke-host revokes all grants at a host', async () => {
  await using openedStores = await openStores(loadConfig(env), { log: silentLog, now: () => currentTime })
  expect(await readOutput('grants list')).toBe('There are no such grants.')
  const ids: string[] = []
  for (const [index, host] of ['claude.ai', 'claude.ai', 'loopback', 'claude.ai'].entries()) {
    const app = { clientId: 'https://claude.ai/x', host }
    const agentId = await openedStores.connections.begin(app, START)
    // Each verification is a millisecond later than the one before, so that their order is certain.
    ids.push(await createVerification(openedStores, agentId, index))
  }
  const record = createExampleAgent()
  await openedStores.agents.add(record)
  const agentVerificationId = await createVerification(openedStores, record.agent.id, 9)
  const [firstId = '', secondId = '', thirdId = '', fourthId = ''] = ids
  currentTime = at(1_000)

  const listedGrants = await readJson('grants list')
  expect(listedGrants.map((grant: { registration_id: string }) => grant.registration_id)).toEqual([
    fourthId,
    thirdId,
    secondId,
    firstId,
  ])
  expect(listedGrants[0]).toEqual({
    registration_id: fourthId,
    client_id: expect.stringMatching(/^agt_/),
    app_host: 'claude.ai',
    app_client_id: 'https://claude.ai/x',
    status: 'live',
    verified_at: at(3).toISOString(),
    expires_at: at(3 + 30 * DAY_MS).toISOString(),
  })
  expect(JSON.stringify(listedGrants)).not.toContain('example.org')
  expect(await readOutput('grants list --host loopback')).toMatch(
    new RegExp(`^${thirdId}  agt_[\\w-]{22}  .*  live  loopback  https`),
  )

  expect((await run(`grants revoke ${agentVerificationId}`)).errors).toContain('There is no live grant')
  expect((await openedStores.verifications.find(agentVerificationId))?.endedBy).toBeUndefined()
  const revoked = await run(`grants revoke ${firstId}`)
  expect(revoked.printed).toBe(`Revoked the grant ${firstId}, and erased the person's address.`)
  expect(parseSecurityEvents(revoked.errors.split('\n'))).toMatchObject([createEndedEvent(firstId)])
  const secondRevocation = await run(`grants revoke ${firstId} --json`)
  expect([secondRevocation.code, secondRevocation.errors]).toEqual([
    1,
    expect.stringContaining('There is no live grant'),
  ])

  expect(await readJson('grants revoke-host claude.ai --dry-run')).toEqual({
    ok: true,
    done: false,
    host: 'claude.ai',
    revoked: 2,
  })
  expect(await readJson('grants list --live')).toHaveLength(3)
  const hostRevocation = await run('grants revoke-host claude.ai --json')
  expect(JSON.parse(hostRevocation.printed)).toEqual({ ok: true, done: true, host: 'claude.ai', revoked: 2 })
  expect(parseSecurityEvents(hostRevocation.errors.split('\n'))).toMatchObject([
    createEndedEvent(fourthId),
    createEndedEvent(secondId),
  ])
  expect(await readJson('grants revoke-host claude.ai')).toMatchObject({ revoked: 0 })
  const liveGrants = await readJson('grants list --live')
  expect(liveGrants.map((grant: { app_host: string }) => grant.app_host)).toEqual(['loopback'])
  expect((await openedStores.verifications.find(agentVerificationId))?.endedBy).toBeUndefined()
  expect((await run('grants revoke-host https://claude.ai/')).code).toBe(2)
})

test('revoking the grants at a host again publishes what the first run failed to publish, although it is no longer listed', async () => {
  await using openedStores = await openStores(loadConfig(env), { log: silentLog, now: () => START })
  const published: Revocation[] = []
  let isPublishingBroken = false
  const revocationPublisher = {
    async publish(revocation: Revocation) {
      if (isPublishingBroken) throw new Error('no Redis')
      published.push(revocation)
    },
  }
  const verifications = createVerificationStore({
    db: testbed.db,
    sealer: loadConfig(env).sealer,
    hashKey: loadConfig(env).hashKey,
    addMail: async () => undefined,
    events: createEvents(),
    tokens: { revokeTokensOf: async () => undefined },
    revocationPublisher,
  })
  const host = 'cursor.example'
  const addGrant = async () => {
    const app = { clientId: `https://${host}/x`, host }
    const agentId = await openedStores.connections.begin(app, START)
    await createVerification(openedStores, agentId, 0)
    return agentId
  }
  const revokeGrants = () => revokeGrantsAtHost({ verifications, revocationPublisher }, host, () => START)

  const agentId = await addGrant()
  expect(await revokeGrants()).toBe(1)
  expect(published).toEqual([{ kind: 'client', id: agentId }, { kind: 'everything' }])

  await addGrant()
  published.length = 0
  isPublishingBroken = true
  await expect(revokeGrants()).rejects.toThrow('no Redis')
  isPublishingBroken = false
  expect(await verifications.countGrants(host, START)).toBe(0)
  expect(await revokeGrants()).toBe(0)
  expect(published).toEqual([{ kind: 'everything' }])
})
