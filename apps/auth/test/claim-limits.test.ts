import { DAY_MS } from '@plainpath/domain'
import { describe, expect, test, vi } from 'vitest'
import { asAgent, json, type Registered, register } from './agent-client.ts'
import {
  begin,
  claim,
  complete,
  confirmed,
  endClaim,
  newAddress,
  showCode,
  startClaims,
  wrongCode,
} from './claim-client.ts'
import { claimMailbox, requestAssertion } from './claim-mailbox.ts'
import { expectProblem, type Refusal } from './expect-refusal.ts'
import { send } from './send.ts'
import type { RunningAuth } from './start-auth.ts'
import { startFaultProxy } from './start-fault-proxy.ts'

vi.setConfig({ testTimeout: 60_000 })

const RETRY = { 'retry-after': /^[1-9]\d*$/ }
const limited = (says: RegExp): Refusal => ({
  status: 429,
  code: 'rate-limited',
  error: 'rate_limited',
  says,
  headers: RETRY,
  form: 'agent',
})

test('limits a client to ten mails a day, and one a minute to each mailbox', async () => {
  await using under = await startClaims({ env: { AUTH_LIMITS_FACTOR: '1' } })
  const { auth } = under
  const agent = await register(auth)
  const email = newAddress()
  expect((await claim(auth, agent, { email })).status).toBe(202)
  expectProblem(await claim(auth, agent, { email }), limited(/claim-resend/))
  under.clock.now = new Date(under.clock.now.getTime() + 67_000)
  expect((await claim(auth, agent, { email })).status).toBe(202)
  for (let n = 2; n < 10; n++) expect((await claim(auth, agent, { email: newAddress() })).status).toBe(202)
  under.clock.now = new Date(under.clock.now.getTime() + 600_000)
  expectProblem(await claim(auth, agent, { email: newAddress() }), limited(/claim-client/))
  expect((await claim(auth, await register(auth), { email: newAddress() })).status).toBe(202)
})

test('applies the pause between two mails of a client to every spelling of a mailbox', async () => {
  await using under = await startClaims({ env: { AUTH_LIMITS_FACTOR: '1' } })
  const { auth, clock } = under
  const agent = await register(auth)
  expect((await claim(auth, agent, { email: 'vic@example.org' })).status).toBe(202)
  for (const email of ['VIC@example.org', 'vic+1@example.org', 'vic+2@EXAMPLE.org', 'Vic+@example.org'])
    expectProblem(await claim(auth, agent, { email }), limited(/claim-resend/))
  expect((await claim(auth, agent, { email: 'vic.1@example.org' })).status).toBe(202)
  expect((await claim(auth, await register(auth), { email: 'vic@example.org' })).status).toBe(202)
  clock.now = new Date(clock.now.getTime() + 67_000)
  expect((await claim(auth, agent, { email: 'VIC@example.org' })).status).toBe(202)
})

describe('an address that others share', () => {
  const ABUSED = '192.0.2.1'
  const TEN_MINUTES = 600_000
  const ENV = { AUTH_LIMITS_FACTOR: '1', AUTH_TRUSTED_PROXIES: '127.0.0.1' }
  const soon = /^([1-9]|[1-9]\d|[1-5]\d\d|600)$/
  const busy = (policy: RegExp): Refusal => ({ ...limited(policy), headers: { 'retry-after': soon } })

  const from = (address: string) => ({ 'x-forwarded-for': address })
  const registerFrom = (auth: RunningAuth, address: string) =>
    send(auth.url, { method: 'POST', path: '/api/agent/register', headers: from(address) })
  async function clientFrom(auth: RunningAuth, address: string): Promise<Registered> {
    const response = await registerFrom(auth, address)
    expect(response.status, response.text).toBe(201)
    return JSON.parse(response.text) as Registered
  }
  const claimFrom = (auth: RunningAuth, address: string, agent: Registered) => {
    const { headers, body } = json({ email: newAddress('invented') })
    const all = { ...headers, ...asAgent(agent), ...from(address) }
    return send(auth.url, { method: 'POST', path: '/api/agent/claim', headers: all, body })
  }

  test('causes at most ten verification mails in ten minutes over all its clients, without effect on other addresses', async () => {
    await using under = await startClaims({ env: ENV })
    const { auth } = under
    const claimAs = async (address: string, n: number) =>
      claimFrom(auth, address, await clientFrom(auth, `203.0.113.${n}`))
    for (let n = 0; n < 10; n++) expect((await claimAs(ABUSED, n)).status).toBe(202)
    expectProblem(await claimAs(ABUSED, 10), busy(/claim-address/))
    expect((await claimAs('198.51.100.1', 11)).status).toBe(202)
  })

  test('serves a verified client during abuse, and everybody ten minutes after it', async () => {
    await using under = await startClaims({ env: ENV })
    const { auth, clock } = under
    const [verified, newcomer] = [await register(auth), await register(auth)]
    await claimMailbox(auth, verified)
    const abusers = await Promise.all(Array.from({ length: 20 }, () => clientFrom(auth, ABUSED)))
    const abuse = async () => {
      for (let round = 0; round < 10; round++)
        await Promise.all(abusers.map((abuser) => claimFrom(auth, ABUSED, abuser)))
    }
    await abuse()
    expectProblem(await claimFrom(auth, ABUSED, newcomer), busy(/claim-address/))
    expectProblem(await registerFrom(auth, ABUSED), busy(/register-address/))
    for (let mails = 0; mails < 10; mails++) {
      if (mails === 5) await abuse()
      expect((await claimFrom(auth, ABUSED, verified)).status).toBe(202)
    }
    expectProblem(await claimFrom(auth, ABUSED, verified), limited(/claim-client/))

    clock.now = new Date(clock.now.getTime() + TEN_MINUTES)
    expect((await claimFrom(auth, ABUSED, newcomer)).status).toBe(202)
    expect((await claimFrom(auth, ABUSED, await clientFrom(auth, ABUSED))).status).toBe(202)
  })

  test('keeps its allowance whatever verified clients do, and counts a client again after its person ended the claim', async () => {
    await using under = await startClaims({ env: ENV })
    const { auth, stores } = under
    const verified = await register(auth)
    await claimMailbox(auth, verified)
    for (let mails = 0; mails < 9; mails++) expect((await claimFrom(auth, ABUSED, verified)).status).toBe(202)
    for (let n = 0; n < 10; n++)
      expect((await claimFrom(auth, ABUSED, await clientFrom(auth, `203.0.113.${n}`))).status).toBe(202)
    const end = (by: string) =>
      stores.db.query(
        `update claims set ended_at = now(), ended_by = $2, email_sealed = null, email_hash = null, email_hash_key = null
         where agent_id = $1`,
        [verified.client_id, by],
      )
    await end('person')
    expectProblem(await claimFrom(auth, ABUSED, verified), busy(/claim-address/))
    await end('expired')
    expect((await claimFrom(auth, ABUSED, verified)).status).toBe(202)
  })
})

test('sends a mailbox five mails a day over all clients, with the same response to further requests', async () => {
  await using under = await startClaims({ env: { AUTH_LIMITS_FACTOR: '1' } })
  const { auth } = under
  const email = newAddress()
  const spellings = [email, email.replace('@', '+a@'), email.replace('@', '+b@'), email.toUpperCase()]
  const responses: string[] = []
  for (let n = 0; n < 8; n++) {
    const response = await claim(auth, await register(auth), { email: spellings[n % spellings.length] })
    responses.push(`${response.status} ${Object.keys(JSON.parse(response.text)).join()}`)
  }
  expect(new Set(responses).size).toBe(1)
  const states = async () => {
    const { rows } = await under.stores.db.query<{ state: string }>('select state from mails order by state')
    return rows.map(({ state }) => state)
  }
  await expect
    .poll(states)
    .toEqual([...['dropped', 'dropped', 'dropped'], ...['sent', 'sent', 'sent', 'sent', 'sent']])
  expect(under.mail.received).toHaveLength(5)
})

test('sends the mails that confirm a claim, with the link that ends it, and its end even when every cap is reached', async () => {
  await using under = await startClaims({ env: { AUTH_LIMITS_FACTOR: '0.2' } })
  const email = newAddress()
  const { agent } = await confirmed(under, { email })
  const mails = () => under.mail.received.map(({ text }) => /\/claim\?(attempt|end)=/.exec(text)?.[1])
  await expect.poll(mails).toEqual(['attempt', 'end'])
  expect((await claim(under.auth, await register(under.auth), { email })).status).toBe(202)
  const dropped = () => under.stores.db.query(`select kind from mails where state = 'dropped'`)
  await expect.poll(async () => (await dropped()).rows).toEqual([{ kind: 'claim-link' }])
  expect(mails()).toHaveLength(2)
  expect((await endClaim(under.auth, agent)).status).toBe(204)
  await expect.poll(mails).toEqual(['attempt', 'end', undefined])
})

test('does not let an agent that only knows an address use up tries or lock anybody out', async () => {
  await using under = await startClaims()
  const email = newAddress()
  const stranger = await begin(under, { email })
  for (let n = 0; n < 20; n++)
    expect((await complete(under.auth, stranger.agent, { otp: '123456' })).status).toBe(409)
  const attempt = await begin(under, { email })
  expect(
    (await complete(under.auth, attempt.agent, { otp: await showCode(under.auth, attempt) })).status,
  ).toBe(200)
})

test('locks a mailbox for a day after ten tries, and keeps its claims live', async () => {
  await using under = await startClaims()
  const { auth, clock } = under
  const email = newAddress()
  const before = await confirmed(under, { email })
  for (let round = 0; round < 2; round++) {
    const stranger = await begin(under, { email })
    const code = wrongCode(await showCode(auth, stranger))
    for (let n = 0; n < 5; n++) expect((await complete(auth, stranger.agent, { otp: code })).status).toBe(400)
  }
  const attempt = await begin(under, { email })
  const locked = { status: 410, code: 'otp-locked', error: 'otp_locked', form: 'agent' } as const
  expectProblem(await complete(auth, attempt.agent, { otp: await showCode(auth, attempt) }), locked)
  expect((await requestAssertion(auth, before.agent)).status).toBe(200)
  clock.now = new Date(clock.now.getTime() + DAY_MS + 60_000)
  const next = await begin(under, { email, agent: attempt.agent })
  expect((await complete(auth, next.agent, { otp: await showCode(auth, next) })).status).toBe(200)
})

test('sends mail again after a day to a mailbox whose allowance strangers had used up', async () => {
  await using under = await startClaims({ env: { AUTH_LIMITS_FACTOR: '1' } })
  const { auth, clock } = under
  const email = newAddress()
  for (let n = 0; n < 6; n++) expect((await claim(auth, await register(auth), { email })).status).toBe(202)
  await expect.poll(() => under.mail.received.length).toBe(5)
  clock.now = new Date(clock.now.getTime() + DAY_MS + 60_000)
  const attempt = await begin(under, { email })
  expect((await complete(auth, attempt.agent, { otp: await showCode(auth, attempt) })).status).toBe(200)
})

test('responds 503 while the database is unavailable, and neither grants nor loses a try', async () => {
  await using under = await startClaims()
  await using proxy = await startFaultProxy(under.stores.database.appUrl, 5432)
  await using cut = await under.another({ AUTH_DATABASE_URL: proxy.url })
  const attempt = await begin(under)
  const otp = await showCode(under.auth, attempt)
  expect((await complete(cut, attempt.agent, { otp: otp === '000000' ? '000001' : '000000' })).status).toBe(
    400,
  )
  await proxy.refuse()
  const away: Refusal = {
    status: 503,
    code: 'unavailable',
    error: 'temporarily_unavailable',
    headers: RETRY,
    form: 'agent',
  }
  expectProblem(await complete(cut, attempt.agent, { otp }), away)
  expectProblem(await claim(cut, attempt.agent, { email: newAddress() }), away)
  await proxy.restore()
  await expect.poll(async () => (await complete(cut, attempt.agent, { otp })).status).toBe(200)
})
