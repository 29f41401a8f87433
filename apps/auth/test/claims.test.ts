import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requestAssertion } from './add-verification.ts'
import { deleteAgent, getToken, isActive, register } from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { expectProblem, expectSafe, type Refusal } from './expect-refusal.ts'
import { type HttpResponse, send } from './send.ts'
import type { RunningAuth } from './start-auth.ts'
import {
  beginVerification,
  completeVerification,
  confirmAgent,
  createAddress,
  createWrongCode,
  findCode,
  findHeading,
  findLinkSecret,
  openClaimPage,
  pressButton,
  requestVerification,
  revokeVerification,
  sayNo,
  sayYes,
  showCode,
  startVerificationSystem,
  type VerificationSystem,
} from './verification-client.ts'

const MINUTE_MS = 60_000

const createRefusal = (status: number, code: string, error: string): Refusal => ({
  status,
  code,
  error,
  errorFormat: 'agent',
})
const codeNotShown = createRefusal(409, 'code-not-shown', 'authorization_pending')
const locked = createRefusal(410, 'otp-locked', 'otp_locked')

let system: VerificationSystem
let auth: RunningAuth
beforeAll(async () => {
  system = await startVerificationSystem()
  auth = system.auth
})
afterAll(async () => {
  await expectNoConfidentialValues(auth)
  await system[Symbol.asyncDispose]()
})

const findAttempt = async (id: string) => {
  const { rows } = await system.testbed.db.query<{ state: string; tries: number }>(
    'select state, tries from claim_attempts where id = $1',
    [id],
  )
  return rows[0]
}
const countLiveVerifications = async (agentId: string) => {
  const { rows } = await system.testbed.db.query(
    'select id from claims where agent_id = $1 and ended_at is null',
    [agentId],
  )
  return rows.length
}

test('a person confirms an agent with the phrase, the page and the code, and then ends its access', async () => {
  const agent = await register(auth, 'Atlas <the agent> & co')
  const email = createAddress()
  const beginResponse = await requestVerification(auth, agent, { email })
  expect(beginResponse.status).toBe(202)
  await expectSafe(auth, beginResponse)
  auth.confidential.add(email)
  const beginBody = JSON.parse(beginResponse.text)
  expect(beginBody).toEqual({
    registration_id: expect.stringMatching(/^clm_[\w-]{22}$/),
    claim_attempt_id: expect.stringMatching(/^cla_[\w-]{22}$/),
    status: 'initiated',
    match_phrase: expect.stringMatching(/^[a-z]+ [a-z]+$/),
    expires_at: new Date(system.clock.now.getTime() + 24 * 60 * MINUTE_MS).toISOString(),
    delivery: { method: 'email', to: 'c•••@example.org' },
    otp_length: 6,
    attempts_allowed: 5,
    resend_after: 60,
  })

  const [mail] = await system.mailServer.waitForMails(1, email)
  expect(mail?.text).toContain(beginBody.match_phrase)
  const secret = findLinkSecret(mail?.text ?? '')
  auth.confidential.add(secret)
  await expect.poll(() => findAttempt(beginBody.claim_attempt_id)).toMatchObject({ state: 'sent' })

  const page = await openClaimPage(auth, { attempt: secret })
  expect(page.status).toBe(200)
  expect(page.text).toContain(`<code id="match-phrase">${beginBody.match_phrase}</code>`)
  expect(page.text).toContain('“Atlas &lt;the agent&gt; &amp; co”')
  expect(page.text).toContain('unverified')
  await expectSafePage(page)

  const codePage = await sayYes(auth, { secret })
  await expectSafePage(codePage)
  const otp = findCode(codePage.text)
  const completeResponse = await completeVerification(auth, agent, { otp })
  expect(completeResponse.status, completeResponse.text).toBe(200)
  await expectSafe(auth, completeResponse)
  const completeBody = JSON.parse(completeResponse.text)
  expect(completeBody).toMatchObject({
    registration_id: beginBody.registration_id,
    claim_attempt_id: beginBody.claim_attempt_id,
    identity_type: 'verified_email',
    scopes: ['guides:read', 'waitlist:write', 'contact:write'],
    expires: new Date(system.clock.now.getTime() + 24 * 60 * MINUTE_MS).toISOString(),
    claim_expires_at: new Date(system.clock.now.getTime() + 30 * 24 * 60 * MINUTE_MS).toISOString(),
  })
  const keys = JSON.parse((await send(auth.url, { path: '/oauth/jwks.json' })).text)
  const { payload } = await jwtVerify(completeBody.identity_assertion, createLocalJWKSet(keys), {
    issuer: auth.origin,
    audience: auth.origin,
    typ: 'identity-assertion+jwt',
    currentDate: system.clock.now,
  })
  expect(payload).toMatchObject({ sub: beginBody.registration_id, client_id: agent.client_id })
  expect(Object.keys(payload).sort()).toEqual([
    'aud',
    'client_id',
    'exp',
    'iat',
    'identity_type',
    'iss',
    'jti',
    'sub',
  ])
  expect(decodeProtectedHeader(completeBody.identity_assertion).kid).toBe(keys.keys[0].kid)

  const [, confirmationMail] = await system.mailServer.waitForMails(2, email)
  expect(confirmationMail?.subject).toContain('can now send us messages for you')
  const end = findLinkSecret(confirmationMail?.text ?? '')
  auth.confidential.add(end)
  const endPage = await openClaimPage(auth, { end })
  expect(findHeading(endPage.text)).toBe('Do you want to end this agent’s access?')
  await expectSafePage(endPage)
  expect(await countLiveVerifications(agent.client_id)).toBe(1)
  const endedPage = await pressButton(auth, { end })
  expect([endedPage.status, findHeading(endedPage.text)]).toEqual([200, 'The access has ended'])
  expect(await countLiveVerifications(agent.client_id)).toBe(0)
  const repeatedPage = await pressButton(auth, { end })
  expect([repeatedPage.status, findHeading(repeatedPage.text)]).toEqual([410, 'This has already ended'])
  expect((await openClaimPage(auth, { end })).status).toBe(410)
})

/** Checks the headers and the markup of a page whose URL contains a secret, and that it does not show the address. */
async function expectSafePage(page: HttpResponse) {
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(page.headers.get('cache-control')).toBe('no-store')
  expect(page.headers.get('referrer-policy')).toBe('no-referrer')
  expect(page.headers.get('content-security-policy')).toContain("form-action 'self'")
  expect(page.headers.get('x-content-type-options')).toBe('nosniff')
  expect(page.text).toContain('<meta name="robots" content="noindex">')
  expect(page.text).not.toContain('<script')
  expect(page.text).not.toContain('example.org')
}

test('nothing changes when a scanner opens the link of a mail', async () => {
  const attempt = await beginVerification(system)
  await expect.poll(() => findAttempt(attempt.id)).toMatchObject({ state: 'sent' })
  const readAttempt = async () =>
    (await system.testbed.db.query('select t::text as row from claim_attempts t where id = $1', [attempt.id]))
      .rows
  const attemptBefore = await readAttempt()
  for (const method of ['GET', 'HEAD', 'GET'])
    expect((await openClaimPage(auth, { attempt: attempt.secret }, method)).status).toBe(200)
  const page = await openClaimPage(auth, { attempt: attempt.secret, answer: 'yes' })
  expect(findHeading(page.text)).toBe('Does this AI agent act for you?')
  expect(await readAttempt()).toEqual(attemptBefore)
  expectProblem(await completeVerification(auth, attempt.agent, { otp: '123456' }), codeNotShown)
})

test('exactly one of twenty simultaneous requests with the right code at two instances is accepted', async () => {
  await using otherInstance = await system.startAnother()
  const attempt = await beginVerification(system)
  const otp = await showCode(otherInstance, attempt)
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      completeVerification(n % 2 ? auth : otherInstance, attempt.agent, { otp }),
    ),
  )
  const successes = responses.filter(({ status }) => status === 200).length
  expect(successes).toBe(await countLiveVerifications(attempt.agent.client_id))
  expect(successes).toBe(1)
  // On a busy machine, some requests wait for the row until they time out.
  expect(responses.filter(({ status }) => ![200, 409, 410, 503].includes(status))).toEqual([])
  expect((await system.mailServer.waitForMails(2, attempt.email)).length).toBe(2)
})

test('only five of twenty simultaneous wrong codes at two instances are counted, and then the right code is rejected', async () => {
  await using otherInstance = await system.startAnother()
  const attempt = await beginVerification(system)
  const otp = await showCode(auth, attempt)
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      completeVerification(n % 2 ? auth : otherInstance, attempt.agent, { otp: createWrongCode(otp) }),
    ),
  )
  // Some of the twenty may get 503, so these five make sure that five wrong codes are counted.
  for (let n = 0; n < 5; n++)
    responses.push(await completeVerification(auth, attempt.agent, { otp: createWrongCode(otp) }))
  expect(responses.filter(({ status }) => status === 400).length).toBeLessThanOrEqual(5)
  expect(responses.filter(({ status }) => ![400, 410, 503].includes(status))).toEqual([])
  expect((await completeVerification(auth, attempt.agent, { otp })).status).toBe(410)
  expect(await findAttempt(attempt.id)).toMatchObject({ tries: 5 })
  expect(await countLiveVerifications(attempt.agent.client_id)).toBe(0)
})

test('the right code is rejected after five wrong codes, whose responses say how many tries are left', async () => {
  const attempt = await beginVerification(system)
  const otp = await showCode(auth, attempt)
  for (const remaining of [4, 3, 2, 1, 0]) {
    const response = await completeVerification(auth, attempt.agent, { otp: createWrongCode(otp) })
    expectProblem(response, createRefusal(400, 'otp-invalid', 'otp_invalid'))
    expect(JSON.parse(response.text)).toMatchObject({ attempts_remaining: remaining })
  }
  expectProblem(await completeVerification(auth, attempt.agent, { otp }), locked)
  expect(findHeading((await openClaimPage(auth, { attempt: attempt.secret })).text)).toBe(
    'Too many wrong codes',
  )
  expect((await sayYes(auth, attempt)).status).toBe(410)
})

test('ten wrong codes are allowed for a mailbox, over all attempts and agents', async () => {
  const email = createAddress('canary+tag')
  const statuses: number[] = []
  for (let round = 0; round < 3; round++) {
    const attempt = await beginVerification(system, { email })
    const otp = await showCode(auth, attempt)
    for (let n = 0; n < 5; n++)
      statuses.push((await completeVerification(auth, attempt.agent, { otp: createWrongCode(otp) })).status)
    if (round === 2) expectProblem(await completeVerification(auth, attempt.agent, { otp }), locked)
  }
  expect(statuses.filter((status) => status === 400)).toHaveLength(10)
  expect(statuses.slice(10)).toEqual([410, 410, 410, 410, 410])
})

test('a code is accepted for ten minutes, each press shows a new code, and at most three codes are shown', async () => {
  const attempt = await beginVerification(system)
  const firstCode = await showCode(auth, attempt)
  system.clock.now = new Date(system.clock.now.getTime() + 10 * MINUTE_MS)
  const expiredResponse = await completeVerification(auth, attempt.agent, { otp: firstCode })
  expectProblem(expiredResponse, createRefusal(410, 'otp-expired', 'otp_expired'))
  expect(await findAttempt(attempt.id)).toMatchObject({ tries: 0 })
  const secondCode = await showCode(auth, attempt)
  const thirdCode = await showCode(auth, attempt)
  const fourthPage = await sayYes(auth, attempt)
  expect([fourthPage.status, findHeading(fourthPage.text)]).toEqual([410, 'We cannot show more codes'])
  expect((await completeVerification(auth, attempt.agent, { otp: secondCode })).status).toBe(
    secondCode === thirdCode ? 200 : 400,
  )
  system.clock.now = new Date(system.clock.now.getTime() + 10 * MINUTE_MS - 1_000)
  expect((await completeVerification(auth, attempt.agent, { otp: thirdCode })).status).toBe(200)
})

test('the code of another agent or of an earlier attempt is rejected', async () => {
  const [attempt, otherAttempt] = [await beginVerification(system), await beginVerification(system)]
  const otp = await showCode(auth, attempt)
  expectProblem(await completeVerification(auth, otherAttempt.agent, { otp }), codeNotShown)
  await showCode(auth, otherAttempt)
  const fields = { otp, claim_attempt_id: attempt.id }
  expect((await completeVerification(auth, otherAttempt.agent, fields)).status).toBe(400)
  const secondAttempt = await beginVerification(system, { agent: attempt.agent, email: attempt.email })
  await showCode(auth, secondAttempt)
  const supersededResponse = await completeVerification(auth, attempt.agent, fields)
  expectProblem(supersededResponse, createRefusal(410, 'claim-superseded', 'claim_superseded'))
  expect(findHeading((await openClaimPage(auth, { attempt: attempt.secret })).text)).toBe(
    'This request is over',
  )
  expect((await sayYes(auth, attempt)).status).toBe(410)
})

test('steps out of order are rejected, and so are repeated steps after the attempt is completed', async () => {
  const agent = await register(auth)
  const unknownAttempt = createRefusal(400, 'claim-unknown', 'invalid_claim_token')
  expectProblem(await completeVerification(auth, agent, { otp: '123456' }), unknownAttempt)
  const attempt = await beginVerification(system, { agent })
  expectProblem(
    await completeVerification(auth, agent, { otp: '123456', claim_attempt_id: `cla_${'A'.repeat(22)}` }),
    unknownAttempt,
  )
  // Seven are more than the five allowed tries: a code does not count as a try before the page has shown one.
  for (let n = 0; n < 7; n++)
    expectProblem(await completeVerification(auth, agent, { otp: '123456' }), codeNotShown)
  const otp = await showCode(auth, attempt)
  expect((await completeVerification(auth, agent, { user_code: otp })).status).toBe(200)
  const completed = createRefusal(409, 'claim-completed', 'previously_claimed')
  expectProblem(await completeVerification(auth, agent, { otp }), completed)
  expect([(await sayYes(auth, attempt)).status, (await sayNo(auth, attempt)).status]).toEqual([410, 410])
  expect(findHeading((await openClaimPage(auth, { attempt: attempt.secret })).text)).toBe('This is done')
  expect(await countLiveVerifications(agent.client_id)).toBe(1)
})

test('declining also revokes the agent’s verification by the same address, but not by another address', async () => {
  const agent = await register(auth)
  const { email, ...firstAttempt } = await confirmAgent(system, { agent })
  const otherAttempt = await beginVerification(system, { agent })
  expect((await sayNo(auth, otherAttempt)).status).toBe(200)
  expect(await countLiveVerifications(agent.client_id)).toBe(1)
  const repeatedAttempt = await beginVerification(system, { agent, email })
  const page = await sayNo(auth, repeatedAttempt)
  expect([page.status, findHeading(page.text)]).toEqual([200, 'You said no'])
  expect(await countLiveVerifications(agent.client_id)).toBe(0)
  const { rows } = await system.testbed.db.query('select ended_by from claims where id = $1', [
    firstAttempt.registrationId,
  ])
  expect(rows).toEqual([{ ended_by: 'person' }])
  expect((await requestAssertion(auth, agent)).status).toBe(409)
})

test('declining also ends another agent’s attempt whose code was shown, and drops later mails to the mailbox', async () => {
  const email = createAddress()
  const [firstAttempt, secondAttempt] = [
    await beginVerification(system, { email }),
    await beginVerification(system, { email }),
  ]
  const otp = await showCode(auth, firstAttempt)
  const page = await sayNo(auth, secondAttempt)
  expect([page.status, findHeading(page.text)]).toEqual([200, 'You said no'])
  const declined = createRefusal(410, 'claim-declined', 'access_denied')
  expectProblem(await completeVerification(auth, firstAttempt.agent, { otp }), declined)
  expectProblem(await completeVerification(auth, secondAttempt.agent, { otp }), declined)
  expect(await countLiveVerifications(firstAttempt.agent.client_id)).toBe(0)
  const thirdAgent = await register(auth)
  expect((await requestVerification(auth, thirdAgent, { email: email.toUpperCase() })).status).toBe(202)
  await expect.poll(async () => (await listMailStates(thirdAgent.client_id)).join()).toBe('dropped')
  expect(
    system.mailServer.received.filter(({ to }) => to.some((each) => each.toLowerCase() === email)),
  ).toHaveLength(2)
  expectProblem(await completeVerification(auth, thirdAgent, { otp }), codeNotShown)
})
const listMailStates = async (agentId: string) => {
  const { rows } = await system.testbed.db.query<{ state: string }>(
    'select state from mails where about in (select id from claim_attempts where agent_id = $1)',
    [agentId],
  )
  return rows.map(({ state }) => state)
}

describe('accepts a code that is written', () => {
  const replaceDigits = (zeroCodePoint: number) => (code: string) =>
    code.replaceAll(/\d/g, (digit) => String.fromCodePoint(zeroCodePoint + Number(digit)))
  test.for([
    ['with a space, as the page shows it', (code: string) => `${code.slice(0, 3)} ${code.slice(3)}`],
    ['with a hyphen', (code: string) => `${code.slice(0, 3)}-${code.slice(3)}`],
    ['in full-width digits', replaceDigits(0xff10)],
    ['in Arabic digits', replaceDigits(0x660)],
  ] as const)('%s', async ([_title, format]) => {
    const attempt = await beginVerification(system)
    const code = await showCode(auth, attempt)
    const wrongCode = format(createWrongCode(code))
    const wrongResponse = await completeVerification(auth, attempt.agent, { otp: wrongCode })
    expect(JSON.parse(wrongResponse.text)).toMatchObject({ code: 'otp-invalid', attempts_remaining: 4 })
    expect((await completeVerification(auth, attempt.agent, { otp: format(code) })).status).toBe(200)
  })
})

test('an agent can revoke its verification and its attempt, and its client_credentials token stays valid', async () => {
  const attempt = await confirmAgent(system)
  const token = await getToken(auth, attempt.agent)
  const openAttempt = await beginVerification(system, { agent: attempt.agent })
  expect((await revokeVerification(auth, attempt.agent)).status).toBe(204)
  expect(await countLiveVerifications(attempt.agent.client_id)).toBe(0)
  expect(await findAttempt(openAttempt.id)).toMatchObject({ state: 'superseded' })
  expect((await revokeVerification(auth, attempt.agent)).status).toBe(204)
  expect(await isActive(auth, token)).toBe(true)
})

test('deleting the agent ends its verification, and its links show no code', async () => {
  const attempt = await confirmAgent(system)
  const openAttempt = await beginVerification(system, { agent: attempt.agent })
  expect((await deleteAgent(auth, attempt.agent)).status).toBe(204)
  const { rows } = await system.testbed.db.query(
    'select ended_by, email_sealed, email_hash from claims where agent_id = $1',
    [attempt.agent.client_id],
  )
  expect(rows).toEqual([{ ended_by: 'agent-deleted', email_sealed: null, email_hash: null }])
  expect((await openClaimPage(auth, { attempt: attempt.secret })).status).toBe(404)
  expect((await openClaimPage(auth, { attempt: openAttempt.secret })).status).toBe(410)
})

test('an address can confirm several agents, each separately, and a new address of an agent replaces the old one', async () => {
  const email = createAddress()
  const [first, second] = [await confirmAgent(system, { email }), await confirmAgent(system, { email })]
  expect(await countLiveVerifications(first.agent.client_id)).toBe(1)
  expect(await countLiveVerifications(second.agent.client_id)).toBe(1)
  const replacement = await confirmAgent(system, { agent: first.agent })
  const { rows } = await system.testbed.db.query(
    'select id, ended_by from claims where agent_id = $1 order by ended_by',
    [first.agent.client_id],
  )
  expect(rows).toEqual([
    { id: first.registrationId, ended_by: 'superseded' },
    { id: replacement.registrationId, ended_by: null },
  ])
})
