import { DAY_MS } from '@plainpath/domain'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import { at, createAttempt, createLinkMail, createRedemption, START } from '../../test/example-claim.ts'
import { type AuthTestbed, openAuthTestbed } from '../../test/open-auth-testbed.ts'
import { runAuth } from '../../test/run-auth.ts'
import { loadConfig } from '../config.ts'
import { openStores } from '../stores.ts'

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

test('claims list and claims show print no address, and claims revoke revokes a verification once', async () => {
  await using openedStores = await openStores(loadConfig(env), { log: silentLog, now: () => currentTime })
  const { agents, verificationAttempts: attempts, verifications } = openedStores
  expect(await readOutput('claims list')).toBe('There are no e-mail verifications.')
  const ids: string[] = []
  for (const createdAt of [at(0), at(1)]) {
    const record = createExampleAgent()
    await agents.add(record)
    const attempt = createAttempt(record.agent.id, { createdAt })
    await attempts.begin(attempt, createLinkMail(attempt))
    await attempts.showCode(attempt.id, Buffer.alloc(32), createdAt)
    await verifications.redeem(createRedemption(attempt, Buffer.alloc(32), createdAt))
    ids.push(attempt.registrationId)
  }
  const [olderId = '', newerId = ''] = ids
  expect(await readOutput(`claims revoke ${olderId}`)).toBe(
    `Revoked the e-mail verification ${olderId}, and erased its address.`,
  )
  const secondRevocation = await run(`claims revoke ${olderId} --json`)
  expect(secondRevocation.code).toBe(1)
  expect(secondRevocation.errors).toContain('There is no live e-mail verification')
  expect(JSON.parse(secondRevocation.printed)).toEqual({ ok: false, reason: secondRevocation.errors })
  const listOutput = await readOutput('claims list --json')
  expect(JSON.parse(listOutput)).toMatchObject([
    { registration_id: newerId, status: 'live' },
    { registration_id: olderId, status: 'ended', ended_by: 'operator', ended_at: START.toISOString() },
  ])
  // The domain of the address in `createAttempt`.
  expect(listOutput).not.toContain('example.org')
  expect(JSON.parse(await readOutput('claims list --live --limit 1 --json'))).toMatchObject([
    { registration_id: newerId },
  ])
  expect(await readOutput(`claims show ${newerId}`)).toMatch(
    new RegExp(`^cla_[\\w-]{22}  agt_[\\w-]{22}  completed\\n${newerId}  agt_.*  live$`),
  )
  const showOutput = await readOutput(`claims show ${olderId} --json`)
  expect(JSON.parse(showOutput)).toMatchObject({
    registration_id: olderId,
    attempt: { state: 'completed' },
    claim: { status: 'ended', ended_by: 'operator' },
  })
  expect(showOutput).not.toContain('example.org')
  expect((await run(`claims show clm_${'A'.repeat(22)}`)).errors).toContain(
    'There is no e-mail verification clm_AAA',
  )
  // A verification expires after 30 days.
  currentTime = at(31 * DAY_MS)
  const expiredLine = new RegExp(`^${newerId}  agt_.*expired$`)
  expect(await readOutput('claims list --limit 1')).toMatch(expiredLine)
  expect(await readOutput('claims list --live')).toBe('There are no live e-mail verifications.')
  expect((await run(`claims revoke ${newerId}`)).errors).toContain('There is no live e-mail verification')
})
