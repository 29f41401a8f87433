import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deleteAgent, getToken, isActive, register } from './agent-client.ts'
import {
  begin,
  type ClaimsUnderTest,
  claim,
  codeIn,
  complete,
  confirmed,
  endClaim,
  headingIn,
  newAddress,
  openClaimPage,
  pressButton,
  sayNo,
  sayYes,
  secretIn,
  showCode,
  startClaims,
  wrongCode,
} from './claim-client.ts'
import { requestAssertion } from './claim-mailbox.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { expectProblem, expectSafe } from './expect-refusal.ts'
import { send } from './send.ts'
import type { RunningAuth } from './start-auth.ts'

const MINUTE_MS = 60_000
let under: ClaimsUnderTest
let auth: RunningAuth
beforeAll(async () => {
  under = await startClaims()
  auth = under.auth
})
afterAll(async () => {
  await expectNothingInClear(auth)
  await under[Symbol.asyncDispose]()
})

const stateOf = async (id: string) => {
  const { rows } = await under.stores.db.query<{ state: string; tries: number }>(
    'select state, tries from claim_attempts where id = $1',
    [id],
  )
  return rows[0]
}
const liveClaims = async (agentId: string) => {
  const { rows } = await under.stores.db.query(
    'select id from claims where agent_id = $1 and ended_at is null',
    [agentId],
  )
  return rows.length
}

test('a person confirms an agent with the phrase, the page and the code', async () => {
  const agent = await register(auth, 'Atlas <the agent> & co')
  const email = newAddress()
  const beginResponse = await claim(auth, agent, { email })
  expect(beginResponse.status).toBe(202)
  await expectSafe(auth, beginResponse)
  auth.confidential.add(email)
  const begun = JSON.parse(beginResponse.text)
  expect(begun).toEqual({
    registration_id: expect.stringMatching(/^clm_[\w-]{22}$/),
    claim_attempt_id: expect.stringMatching(/^cla_[\w-]{22}$/),
    status: 'initiated',
    match_phrase: expect.stringMatching(/^[a-z]+ [a-z]+$/),
    expires_at: new Date(under.clock.now.getTime() + 24 * 60 * MINUTE_MS).toISOString(),
    delivery: { method: 'email', to: 'c•••@example.org' },
    otp_length: 6,
    attempts_allowed: 5,
    resend_after: 60,
  })

  const [mail] = await under.mail.mails(1, email)
  expect(mail?.text).toContain(begun.match_phrase)
  const secret = secretIn(mail?.text ?? '')
  auth.confidential.add(secret)
  await expect.poll(() => stateOf(begun.claim_attempt_id)).toMatchObject({ state: 'sent' })

  const page = await openClaimPage(auth, { attempt: secret })
  expect(page.status).toBe(200)
  expect(page.text).toContain(`<code id="match-phrase">${begun.match_phrase}</code>`)
  expect(page.text).toContain('“Atlas &lt;the agent&gt; &amp; co”')
  expect(page.text).toContain('unverified')
  await expectPage(page)

  const shown = await sayYes(auth, { secret })
  await expectPage(shown)
  const otp = codeIn(shown.text)
  const done = await complete(auth, agent, { otp })
  expect(done.status, done.text).toBe(200)
  await expectSafe(auth, done)
  const answer = JSON.parse(done.text)
  expect(answer).toMatchObject({
    registration_id: begun.registration_id,
    claim_attempt_id: begun.claim_attempt_id,
    identity_type: 'verified_email',
    scopes: ['guides:read', 'waitlist:write', 'contact:write'],
    expires: new Date(under.clock.now.getTime() + 24 * 60 * MINUTE_MS).toISOString(),
    claim_expires_at: new Date(under.clock.now.getTime() + 30 * 24 * 60 * MINUTE_MS).toISOString(),
  })
  const keys = JSON.parse((await send(auth.url, { path: '/oauth/jwks.json' })).text)
  const { payload } = await jwtVerify(answer.identity_assertion, createLocalJWKSet(keys), {
    issuer: auth.origin,
    audience: auth.origin,
    typ: 'identity-assertion+jwt',
    currentDate: under.clock.now,
  })
  expect(payload).toMatchObject({ sub: begun.registration_id, client_id: agent.client_id })
  expect(Object.keys(payload).sort()).toEqual([
    ...['aud', 'client_id', 'exp', 'iat'],
    ...['identity_type', 'iss', 'jti', 'sub'],
  ])
  expect(decodeProtectedHeader(answer.identity_assertion).kid).toBe(keys.keys[0].kid)

  const [, told] = await under.mail.mails(2, email)
  expect(told?.subject).toContain('can now send us messages for you')
  const end = secretIn(told?.text ?? '')
  auth.confidential.add(end)
  const question = await openClaimPage(auth, { end })
  expect(headingIn(question.text)).toBe('Do you want to end this agent’s access?')
  await expectPage(question)
  expect(await liveClaims(agent.client_id)).toBe(1)
  const ended = await pressButton(auth, { end })
  expect([ended.status, headingIn(ended.text)]).toEqual([200, 'The access has ended'])
  expect(await liveClaims(agent.client_id)).toBe(0)
  const again = await pressButton(auth, { end })
  expect([again.status, headingIn(again.text)]).toEqual([410, 'This has already ended'])
  expect((await openClaimPage(auth, { end })).status).toBe(410)
})

/** The headers of a page with a secret in its address. */
async function expectPage(page: Awaited<ReturnType<typeof openClaimPage>>) {
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(page.headers.get('cache-control')).toBe('no-store')
  expect(page.headers.get('referrer-policy')).toBe('no-referrer')
  expect(page.headers.get('content-security-policy')).toContain("form-action 'self'")
  expect(page.headers.get('x-content-type-options')).toBe('nosniff')
  expect(page.text).toContain('<meta name="robots" content="noindex">')
  expect(page.text).not.toContain('<script')
  expect(page.text).not.toContain('example.org')
}

test('changes nothing when a scanner opens every link of every mail', async () => {
  const attempt = await begin(under)
  await expect.poll(() => stateOf(attempt.id)).toMatchObject({ state: 'sent' })
  const rows = async () =>
    (await under.stores.db.query('select t::text as row from claim_attempts t where id = $1', [attempt.id]))
      .rows
  const before = await rows()
  for (const method of ['GET', 'HEAD', 'GET'])
    expect((await openClaimPage(auth, { attempt: attempt.secret }, method)).status).toBe(200)
  const guessing = await openClaimPage(auth, { attempt: attempt.secret, answer: 'yes' })
  expect(headingIn(guessing.text)).toBe('Does this AI agent act for you?')
  expect(await rows()).toEqual(before)
  expectProblem(await complete(auth, attempt.agent, { otp: '123456' }), notShown)
})
const notShown = {
  status: 409,
  code: 'code-not-shown',
  error: 'authorization_pending',
  form: 'agent',
} as const

test('accepts the right code once of twenty simultaneous requests at two instances', async () => {
  await using there = await under.another()
  const attempt = await begin(under)
  const otp = await showCode(there, attempt)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => complete(n % 2 ? auth : there, attempt.agent, { otp })),
  )
  const successes = answers.filter(({ status }) => status === 200).length
  expect(successes).toBe(await liveClaims(attempt.agent.client_id))
  expect(successes).toBe(1)
  // On a busy machine some wait for the row until they are given up.
  expect(answers.filter(({ status }) => ![200, 409, 410, 503].includes(status))).toEqual([])
  expect((await under.mail.mails(2, attempt.email)).length).toBe(2)
})

test('counts five of twenty simultaneous wrong codes at two instances, then rejects every code', async () => {
  await using there = await under.another()
  const attempt = await begin(under)
  const otp = await showCode(auth, attempt)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      complete(n % 2 ? auth : there, attempt.agent, { otp: wrongCode(otp) }),
    ),
  )
  for (let n = 0; n < 5; n++) answers.push(await complete(auth, attempt.agent, { otp: wrongCode(otp) }))
  expect(answers.filter(({ status }) => status === 400).length).toBeLessThanOrEqual(5)
  expect(answers.filter(({ status }) => ![400, 410, 503].includes(status))).toEqual([])
  expect((await complete(auth, attempt.agent, { otp })).status).toBe(410)
  expect(await stateOf(attempt.id)).toMatchObject({ tries: 5 })
  expect(await liveClaims(attempt.agent.client_id)).toBe(0)
})

test('rejects the right code after five wrong ones, each of which says how many tries are left', async () => {
  const attempt = await begin(under)
  const otp = await showCode(auth, attempt)
  for (const remaining of [4, 3, 2, 1, 0]) {
    const answer = await complete(auth, attempt.agent, { otp: wrongCode(otp) })
    expectProblem(answer, { status: 400, code: 'otp-invalid', error: 'otp_invalid', form: 'agent' })
    expect(JSON.parse(answer.text)).toMatchObject({ attempts_remaining: remaining })
  }
  expectProblem(await complete(auth, attempt.agent, { otp }), locked)
  expect(headingIn((await openClaimPage(auth, attempt2query(attempt))).text)).toBe('Too many wrong codes')
  expect((await sayYes(auth, attempt)).status).toBe(410)
})
const locked = { status: 410, code: 'otp-locked', error: 'otp_locked', form: 'agent' } as const
const attempt2query = ({ secret }: { secret: string }) => ({ attempt: secret })

test('allows ten tries a day for a mailbox, over all attempts and agents', async () => {
  const email = newAddress('canary+tag')
  const statuses: number[] = []
  for (let round = 0; round < 3; round++) {
    const attempt = await begin(under, { email })
    const otp = await showCode(auth, attempt)
    for (let n = 0; n < 5; n++)
      statuses.push((await complete(auth, attempt.agent, { otp: wrongCode(otp) })).status)
    if (round === 2) expectProblem(await complete(auth, attempt.agent, { otp }), locked)
  }
  expect(statuses.filter((status) => status === 400)).toHaveLength(10)
  expect(statuses.slice(10)).toEqual([410, 410, 410, 410, 410])
})

test('accepts a code for ten minutes, and shows another at the next press', async () => {
  const attempt = await begin(under)
  const first = await showCode(auth, attempt)
  under.clock.now = new Date(under.clock.now.getTime() + 10 * MINUTE_MS)
  expectProblem(await complete(auth, attempt.agent, { otp: first }), {
    status: 410,
    code: 'otp-expired',
    error: 'otp_expired',
    form: 'agent',
  })
  expect(await stateOf(attempt.id)).toMatchObject({ tries: 0 })
  const second = await showCode(auth, attempt)
  const third = await showCode(auth, attempt)
  const fourth = await sayYes(auth, attempt)
  expect([fourth.status, headingIn(fourth.text)]).toEqual([410, 'We cannot show more codes'])
  expect((await complete(auth, attempt.agent, { otp: second })).status).toBe(second === third ? 200 : 400)
  under.clock.now = new Date(under.clock.now.getTime() + 10 * MINUTE_MS - 1_000)
  expect((await complete(auth, attempt.agent, { otp: third })).status).toBe(200)
})

test('rejects the code of another agent, address or attempt', async () => {
  const [mine, theirs] = [await begin(under), await begin(under)]
  const otp = await showCode(auth, mine)
  expectProblem(await complete(auth, theirs.agent, { otp }), notShown)
  await showCode(auth, theirs)
  expect((await complete(auth, theirs.agent, { otp, claim_attempt_id: mine.id })).status).toBe(400)
  const renewed = await begin(under, { agent: mine.agent, email: mine.email })
  await showCode(auth, renewed)
  expectProblem(await complete(auth, mine.agent, { otp, claim_attempt_id: mine.id }), {
    status: 410,
    code: 'claim-superseded',
    error: 'claim_superseded',
    form: 'agent',
  })
  expect(headingIn((await openClaimPage(auth, { attempt: mine.secret })).text)).toBe(
    'There is a newer e-mail',
  )
  expect((await sayYes(auth, mine)).status).toBe(410)
})

test('rejects steps that are out of order, and every step after the attempt is over', async () => {
  const agent = await register(auth)
  const unknown = { status: 400, code: 'claim-unknown', error: 'invalid_claim_token', form: 'agent' } as const
  expectProblem(await complete(auth, agent, { otp: '123456' }), unknown)
  const attempt = await begin(under, { agent })
  expectProblem(
    await complete(auth, agent, { otp: '123456', claim_attempt_id: `cla_${'A'.repeat(22)}` }),
    unknown,
  )
  for (let n = 0; n < 7; n++) expectProblem(await complete(auth, agent, { otp: '123456' }), notShown)
  const otp = await showCode(auth, attempt)
  expect((await complete(auth, agent, { user_code: otp })).status).toBe(200)
  const completed = {
    status: 409,
    code: 'claim-completed',
    error: 'previously_claimed',
    form: 'agent',
  } as const
  expectProblem(await complete(auth, agent, { otp }), completed)
  expect([(await sayYes(auth, attempt)).status, (await sayNo(auth, attempt)).status]).toEqual([410, 410])
  expect(headingIn((await openClaimPage(auth, { attempt: attempt.secret })).text)).toBe('This is done')
  expect(await liveClaims(agent.client_id)).toBe(1)
})

test('declining also ends the agent’s claim for the same address, and no claim for another', async () => {
  const agent = await register(auth)
  const { email, ...first } = await confirmed(under, { agent })
  const other = await begin(under, { agent })
  expect((await sayNo(auth, other)).status).toBe(200)
  expect(await liveClaims(agent.client_id)).toBe(1)
  const again = await begin(under, { agent, email })
  const no = await sayNo(auth, again)
  expect([no.status, headingIn(no.text)]).toEqual([200, 'You said no'])
  expect(await liveClaims(agent.client_id)).toBe(0)
  const { rows } = await under.stores.db.query('select ended_by from claims where id = $1', [
    first.registrationId,
  ])
  expect(rows).toEqual([{ ended_by: 'person' }])
  expect((await requestAssertion(auth, agent)).status).toBe(409)
})

test('declining also ends another agent’s attempt whose code was shown, and stops mails', async () => {
  const email = newAddress()
  const [first, second] = [await begin(under, { email }), await begin(under, { email })]
  const otp = await showCode(auth, first)
  const no = await sayNo(auth, second)
  expect([no.status, headingIn(no.text)]).toEqual([200, 'You said no'])
  const declined = { status: 410, code: 'claim-declined', error: 'access_denied', form: 'agent' } as const
  expectProblem(await complete(auth, first.agent, { otp }), declined)
  expectProblem(await complete(auth, second.agent, { otp }), declined)
  expect(await liveClaims(first.agent.client_id)).toBe(0)
  const third = await register(auth)
  expect((await claim(auth, third, { email: email.toUpperCase() })).status).toBe(202)
  await expect.poll(async () => (await mailStates(third.client_id)).join()).toBe('dropped')
  expect(
    under.mail.received.filter(({ to }) => to.some((each) => each.toLowerCase() === email)),
  ).toHaveLength(2)
  expectProblem(await complete(auth, third, { otp }), notShown)
})
const mailStates = async (agentId: string) => {
  const { rows } = await under.stores.db.query<{ state: string }>(
    'select state from mails where about in (select id from claim_attempts where agent_id = $1)',
    [agentId],
  )
  return rows.map(({ state }) => state)
}

describe('how a code may be written:', () => {
  test.for([
    ['as it is shown', (code: string) => `${code.slice(0, 3)} ${code.slice(3)}`],
    ['with a hyphen', (code: string) => `${code.slice(0, 3)}-${code.slice(3)}`],
    [
      'in full-width digits',
      (code: string) => code.replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    ],
  ] as const)('%s', async ([_how, write]) => {
    const attempt = await begin(under)
    const code = await showCode(auth, attempt)
    const wrong = await complete(auth, attempt.agent, { otp: write(wrongCode(code)) })
    expect(JSON.parse(wrong.text)).toMatchObject({ code: 'otp-invalid', attempts_remaining: 4 })
    expect((await complete(auth, attempt.agent, { otp: write(code) })).status).toBe(200)
  })
})

test('lets an agent end its claim and withdraw its attempt, and keeps its other tokens valid', async () => {
  const attempt = await confirmed(under)
  const token = await getToken(auth, attempt.agent)
  const open = await begin(under, { agent: attempt.agent })
  expect((await endClaim(auth, attempt.agent)).status).toBe(204)
  expect(await liveClaims(attempt.agent.client_id)).toBe(0)
  expect(await stateOf(open.id)).toMatchObject({ state: 'superseded' })
  expect((await endClaim(auth, attempt.agent)).status).toBe(204)
  expect(await isActive(auth, token)).toBe(true)
})

test('deleting the agent ends its claim and invalidates its links', async () => {
  const attempt = await confirmed(under)
  const open = await begin(under, { agent: attempt.agent })
  expect((await deleteAgent(auth, attempt.agent)).status).toBe(204)
  const { rows } = await under.stores.db.query(
    'select ended_by, email_sealed, email_hash from claims where agent_id = $1',
    [attempt.agent.client_id],
  )
  expect(rows).toEqual([{ ended_by: 'agent-deleted', email_sealed: null, email_hash: null }])
  for (const { secret } of [attempt, open])
    expect((await openClaimPage(auth, { attempt: secret })).status).toBe(404)
})

test('an address may confirm several agents, each separately; a new address replaces the old', async () => {
  const email = newAddress()
  const [first, second] = [await confirmed(under, { email }), await confirmed(under, { email })]
  expect(await liveClaims(first.agent.client_id)).toBe(1)
  expect(await liveClaims(second.agent.client_id)).toBe(1)
  const moved = await confirmed(under, { agent: first.agent })
  const { rows } = await under.stores.db.query(
    'select id, ended_by from claims where agent_id = $1 order by ended_by',
    [first.agent.client_id],
  )
  expect(rows).toEqual([
    { id: first.registrationId, ended_by: 'superseded' },
    { id: moved.registrationId, ended_by: null },
  ])
})
