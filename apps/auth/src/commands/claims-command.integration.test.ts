import { DAY_MS } from '@plainpath/domain'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import { at, exampleAttempt, exampleRedemption, linkMail, START } from '../../test/example-claim.ts'
import { type AuthStores, openAuthStores } from '../../test/open-auth-stores.ts'
import { runAuth } from '../../test/run-auth.ts'
import { loadConfig } from '../config.ts'
import { openStores } from '../stores.ts'

let stores: AuthStores
let env: Record<string, string>
let clock = START
beforeAll(async () => {
  stores = await openAuthStores()
  env = await stores.settingsFor('https://plainpath.example')
})
afterAll(() => stores[Symbol.asyncDispose]())

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }
const run = (words: string) => runAuth(words.split(' '), env, () => clock)
const printed = async (words: string) => (await run(words)).printed

test('operators see claims without addresses, and end them once', async () => {
  await using opened = await openStores(loadConfig(env), { log: silent, now: () => clock })
  const { agents, verificationAttempts: attempts, verifications } = opened
  expect(await printed('claims list')).toBe('There is no claim.')
  const ids: string[] = []
  for (let n = 0; n < 2; n++) {
    const record = exampleAgent()
    await agents.add(record)
    const attempt = exampleAttempt(record.agent.id, { createdAt: at(n) })
    await attempts.begin(attempt, linkMail(attempt))
    await attempts.showCode(attempt.id, Buffer.alloc(32), at(n))
    await verifications.redeem(exampleRedemption(attempt.id, Buffer.alloc(32), at(n)))
    ids.push(attempt.registrationId)
  }
  const [older = '', newer = ''] = ids
  expect(await printed(`claims revoke ${older}`)).toBe(`${older} has ended; its address is erased.`)
  const again = await run(`claims revoke ${older} --json`)
  expect(again.code).toBe(1)
  expect(again.errors).toContain('or it has ended')
  expect(JSON.parse(again.printed)).toEqual({ ok: false, reason: again.errors })
  const listed = await printed('claims list --json')
  expect(JSON.parse(listed)).toMatchObject([
    { registration_id: newer, status: 'live' },
    { registration_id: older, status: 'ended', ended_by: 'operator', ended_at: START.toISOString() },
  ])
  expect(listed).not.toContain('example.org')
  expect(JSON.parse(await printed('claims list --live --limit 1 --json'))).toMatchObject([
    { registration_id: newer },
  ])
  expect(await printed(`claims show ${newer}`)).toMatch(
    new RegExp(`^cla_[\\w-]{22}  agt_[\\w-]{22}  completed\\n${newer}  agt_.*  live$`),
  )
  const shown = await printed(`claims show ${older} --json`)
  expect(JSON.parse(shown)).toMatchObject({
    registration_id: older,
    attempt: { state: 'completed' },
    claim: { status: 'ended', ended_by: 'operator' },
  })
  expect(shown).not.toContain('example.org')
  expect((await run(`claims show clm_${'A'.repeat(22)}`)).errors).toContain('There is no claim clm_AAA')
  clock = at(31 * DAY_MS)
  expect(await printed('claims list --limit 1')).toMatch(new RegExp(`^${newer}  agt_.*ended by expired$`))
  expect(await printed('claims list --live')).toBe('No claim is live.')
  expect((await run(`claims revoke ${newer}`)).errors).toContain('or it has ended')
})
