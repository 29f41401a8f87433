import { DAY_MS } from '@plainpath/domain'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import { at, createAttempt, createLinkMail, createRedemption, START } from '../../test/example-claim.ts'
import { type AuthTestbed, openAuthTestbed } from '../../test/open-auth-testbed.ts'
import { parseSecurityEvents } from '../../test/parse-security-events.ts'
import { runAuth } from '../../test/run-auth.ts'
import { loadConfig } from '../config.ts'
import { openStores, type Stores } from '../stores.ts'

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
  const redemption = createRedemption(attempt.id, Buffer.alloc(32), at(createdAtMs))
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
