import { DAY_MS } from '@plainpath/domain'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import { at, exampleAttempt, exampleRedemption, linkMail, START } from '../../test/example-claim.ts'
import { type AuthStores, openAuthStores } from '../../test/open-auth-stores.ts'
import { runAuth } from '../../test/run-auth.ts'
import { securityEventsIn } from '../../test/security-events-in.ts'
import { loadConfig } from '../config.ts'
import { openStores, type Stores } from '../stores.ts'

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
const endedBy = (id: string) => ({ event: 'claim-ended', registration_id: id, by: 'operator' })
const json = async (words: string) => JSON.parse(await printed(`${words} --json`))

async function grant(
  { verificationAttempts: attempts, verifications }: Stores,
  agentId: string,
  n: number,
): Promise<string> {
  const attempt = exampleAttempt(agentId, { createdAt: at(n) })
  await attempts.begin(attempt, linkMail(attempt))
  await attempts.showCode(attempt.id, Buffer.alloc(32), at(n))
  expect((await verifications.redeem(exampleRedemption(attempt.id, Buffer.alloc(32), at(n)))).ok).toBe(true)
  return attempt.registrationId
}

test('operators see the grants of people without addresses, and end one, or all of a host', async () => {
  await using opened = await openStores(loadConfig(env), { log: silent, now: () => clock })
  expect(await printed('grants list')).toBe('There is no grant.')
  const ids: string[] = []
  for (const [n, host] of ['claude.ai', 'claude.ai', 'loopback', 'claude.ai'].entries())
    ids.push(
      await grant(
        opened,
        await opened.connections.begin({ clientId: 'https://claude.ai/x', host }, START),
        n,
      ),
    )
  const record = exampleAgent()
  await opened.agents.add(record)
  const ofAgent = await grant(opened, record.agent.id, 9)
  const [first = '', second = '', third = '', fourth = ''] = ids
  clock = at(1_000)

  const listed = await json('grants list')
  expect(listed.map((each: { registration_id: string }) => each.registration_id)).toEqual([
    fourth,
    third,
    second,
    first,
  ])
  expect(listed[0]).toEqual({
    registration_id: fourth,
    client_id: expect.stringMatching(/^agt_/),
    app_host: 'claude.ai',
    app_client_id: 'https://claude.ai/x',
    status: 'live',
    verified_at: at(3).toISOString(),
    expires_at: at(3 + 30 * DAY_MS).toISOString(),
  })
  expect(JSON.stringify(listed)).not.toContain('example.org')
  expect(await printed('grants list --host loopback')).toMatch(
    new RegExp(`^${third}  agt_[\\w-]{22}  .*  live  loopback  https`),
  )

  expect((await run(`grants revoke ${ofAgent}`)).errors).toContain('There is no grant')
  expect((await opened.verifications.find(ofAgent))?.endedBy).toBeUndefined()
  const revoked = await run(`grants revoke ${first}`)
  expect(revoked.printed).toBe(`${first} has ended; its address is erased.`)
  expect(securityEventsIn(revoked.errors.split('\n'))).toMatchObject([endedBy(first)])
  const again = await run(`grants revoke ${first} --json`)
  expect([again.code, again.errors]).toEqual([1, expect.stringContaining('or it has ended')])

  expect(await json('grants revoke-host claude.ai --dry-run')).toEqual({
    ok: true,
    done: false,
    host: 'claude.ai',
    revoked: 2,
  })
  expect(await json('grants list --live')).toHaveLength(3)
  const ended = await run('grants revoke-host claude.ai --json')
  expect(JSON.parse(ended.printed)).toEqual({ ok: true, done: true, host: 'claude.ai', revoked: 2 })
  expect(securityEventsIn(ended.errors.split('\n'))).toMatchObject([endedBy(fourth), endedBy(second)])
  expect(await json('grants revoke-host claude.ai')).toMatchObject({ revoked: 0 })
  expect((await json('grants list --live')).map((each: { app_host: string }) => each.app_host)).toEqual([
    'loopback',
  ])
  expect((await opened.verifications.find(ofAgent))?.endedBy).toBeUndefined()
  expect((await run('grants revoke-host https://claude.ai/')).code).toBe(2)
})
