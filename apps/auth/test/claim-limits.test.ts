import { DAY_MS } from '@plainpath/domain'
import { describe, expect, test } from 'vitest'
import { addVerification, requestAssertion } from './add-verification.ts'
import { agentAuthHeader, createJsonContent, type RegisteredAgent, register } from './agent-client.ts'
import { expectProblem, type Refusal } from './expect-refusal.ts'
import { send } from './send.ts'
import type { RunningAuth } from './start-auth.ts'
import { startStoreProxy } from './start-store-proxy.ts'
import {
  beginVerification,
  completeVerification,
  confirmAgent,
  createAddress,
  createWrongCode,
  requestVerification,
  revokeVerification,
  showCode,
  startVerificationSystem,
} from './verification-client.ts'

/** Longer than the minute after which a client may send another mail to the same mailbox. */
const OVER_A_MINUTE_MS = 67_000
const RETRY_AFTER = { 'retry-after': /^[1-9]\d*$/ }
const rateLimited = (says: RegExp): Refusal => ({
  status: 429,
  code: 'rate-limited',
  error: 'rate_limited',
  says,
  headers: RETRY_AFTER,
  errorFormat: 'agent',
})

test('a client may send ten verification mails a day, and one a minute to each mailbox', async () => {
  await using system = await startVerificationSystem({ env: { AUTH_LIMITS_FACTOR: '1' } })
  const { auth } = system
  const agent = await register(auth)
  const email = createAddress()
  expect((await requestVerification(auth, agent, { email })).status).toBe(202)
  expectProblem(await requestVerification(auth, agent, { email }), rateLimited(/claim-resend/))
  system.clock.now = new Date(system.clock.now.getTime() + OVER_A_MINUTE_MS)
  expect((await requestVerification(auth, agent, { email })).status).toBe(202)
  for (let n = 2; n < 10; n++)
    expect((await requestVerification(auth, agent, { email: createAddress() })).status).toBe(202)
  // After ten minutes, the limit of the network address would allow more mails, so the limit of the client refuses the next one.
  system.clock.now = new Date(system.clock.now.getTime() + 600_000)
  expectProblem(
    await requestVerification(auth, agent, { email: createAddress() }),
    rateLimited(/claim-client/),
  )
  expect((await requestVerification(auth, await register(auth), { email: createAddress() })).status).toBe(202)
})

test('the pause between two mails also applies to other spellings of the mailbox, but not to other clients', async () => {
  await using system = await startVerificationSystem({ env: { AUTH_LIMITS_FACTOR: '1' } })
  const { auth, clock } = system
  const agent = await register(auth)
  expect((await requestVerification(auth, agent, { email: 'vic@example.org' })).status).toBe(202)
  for (const email of ['VIC@example.org', 'vic+1@example.org', 'vic+2@EXAMPLE.org', 'Vic+@example.org'])
    expectProblem(await requestVerification(auth, agent, { email }), rateLimited(/claim-resend/))
  expect((await requestVerification(auth, agent, { email: 'vic.1@example.org' })).status).toBe(202)
  expect((await requestVerification(auth, await register(auth), { email: 'vic@example.org' })).status).toBe(
    202,
  )
  clock.now = new Date(clock.now.getTime() + OVER_A_MINUTE_MS)
  expect((await requestVerification(auth, agent, { email: 'VIC@example.org' })).status).toBe(202)
})

describe('a network address that several clients share', () => {
  const SHARED_ADDRESS = '192.0.2.1'
  const TEN_MINUTES_MS = 600_000
  /** The quotas of production, and a proxy that names the address of each caller. */
  const SETTINGS = { AUTH_LIMITS_FACTOR: '1', AUTH_TRUSTED_PROXIES: '127.0.0.1' }
  /** Matches 1 to 600 seconds. */
  const AT_MOST_TEN_MINUTES = /^([1-9]|[1-9]\d|[1-5]\d\d|600)$/
  const addressLimited = (policy: RegExp): Refusal => ({
    ...rateLimited(policy),
    headers: { 'retry-after': AT_MOST_TEN_MINUTES },
  })

  const forwardedFor = (address: string) => ({ 'x-forwarded-for': address })
  const registerFrom = (auth: RunningAuth, address: string) =>
    send(auth.url, { method: 'POST', path: '/api/agent/register', headers: forwardedFor(address) })
  async function createClientFrom(auth: RunningAuth, address: string): Promise<RegisteredAgent> {
    const response = await registerFrom(auth, address)
    expect(response.status, response.text).toBe(201)
    return JSON.parse(response.text) as RegisteredAgent
  }
  const requestVerificationFrom = (
    auth: RunningAuth,
    address: string,
    agent: RegisteredAgent,
    email = createAddress('invented'),
  ) => {
    const { headers, body } = createJsonContent({ email })
    const allHeaders = { ...headers, ...agentAuthHeader(agent), ...forwardedFor(address) }
    return send(auth.url, { method: 'POST', path: '/api/agent/claim', headers: allHeaders, body })
  }

  test('is limited to ten verification mails in ten minutes over all its clients, and other addresses are unaffected', async () => {
    await using system = await startVerificationSystem({ env: SETTINGS })
    const { auth } = system
    /** Requests a verification from the address, as a client that registered at another address. */
    const requestAsNewClient = async (address: string, clientNumber: number) =>
      requestVerificationFrom(auth, address, await createClientFrom(auth, `203.0.113.${clientNumber}`))
    for (let n = 0; n < 10; n++) expect((await requestAsNewClient(SHARED_ADDRESS, n)).status).toBe(202)
    expectProblem(await requestAsNewClient(SHARED_ADDRESS, 10), addressLimited(/claim-address/))
    expect((await requestAsNewClient('198.51.100.1', 11)).status).toBe(202)
  })

  test('lets a client renew its verification while other clients abuse the address, and serves other requests ten minutes later', async () => {
    await using system = await startVerificationSystem({ env: SETTINGS })
    const { auth, clock } = system
    const [verifiedClient, otherClient] = [await register(auth), await register(auth)]
    const { email } = await addVerification(auth, verifiedClient)
    const abusiveClients = await Promise.all(
      Array.from({ length: 20 }, () => createClientFrom(auth, SHARED_ADDRESS)),
    )
    for (let round = 0; round < 10; round++)
      await Promise.all(abusiveClients.map((each) => requestVerificationFrom(auth, SHARED_ADDRESS, each)))
    expectProblem(await registerFrom(auth, SHARED_ADDRESS), addressLimited(/register-address/))
    // Another client is counted, even with the address of the verified client. So is the verified client with another address.
    for (const [client, recipient] of [
      [otherClient, undefined],
      [verifiedClient, undefined],
      [otherClient, email],
    ] as const)
      expectProblem(
        await requestVerificationFrom(auth, SHARED_ADDRESS, client, recipient),
        addressLimited(/claim-address/),
      )
    const renewal = await requestVerificationFrom(auth, SHARED_ADDRESS, verifiedClient, email.toUpperCase())
    expect(renewal.status, renewal.text).toBe(202)

    clock.now = new Date(clock.now.getTime() + TEN_MINUTES_MS)
    expect((await requestVerificationFrom(auth, SHARED_ADDRESS, otherClient)).status).toBe(202)
    expect((await requestVerificationFrom(auth, SHARED_ADDRESS, verifiedClient)).status).toBe(202)
    const newClient = await createClientFrom(auth, SHARED_ADDRESS)
    expect((await requestVerificationFrom(auth, SHARED_ADDRESS, newClient)).status).toBe(202)
  })

  test('is limited to ten renewals and, counted separately, ten mails to others, if all its clients are verified', async () => {
    await using system = await startVerificationSystem({ env: SETTINGS })
    const { auth, clock } = system
    const createVerifiedClient = async () => {
      const client = await register(auth)
      return { client, email: (await addVerification(auth, client)).email }
    }
    const clients = await Promise.all(Array.from({ length: 10 }, createVerifiedClient))
    const { client: lastClient, email: lastEmail } = await createVerifiedClient()
    for (const { client, email } of clients)
      expect((await requestVerificationFrom(auth, SHARED_ADDRESS, client, email)).status).toBe(202)
    expectProblem(
      await requestVerificationFrom(auth, SHARED_ADDRESS, lastClient, lastEmail),
      addressLimited(/claim-renewal/),
    )
    for (const { client } of clients)
      expect((await requestVerificationFrom(auth, SHARED_ADDRESS, client)).status).toBe(202)
    expectProblem(
      await requestVerificationFrom(auth, SHARED_ADDRESS, lastClient),
      addressLimited(/claim-address/),
    )
    clock.now = new Date(clock.now.getTime() + TEN_MINUTES_MS)
    const laterRenewal = await requestVerificationFrom(auth, SHARED_ADDRESS, lastClient, lastEmail)
    expect(laterRenewal.status).toBe(202)
  })

  test.for(['expired', 'was revoked'])('counts a renewal after the verification %s', async (cause) => {
    await using system = await startVerificationSystem({ env: SETTINGS })
    const { auth, clock } = system
    const client = await register(auth)
    const { email } = await addVerification(auth, client, { lifetimeMs: 60_000 })
    if (cause === 'expired') clock.now = new Date(clock.now.getTime() + OVER_A_MINUTE_MS)
    else expect((await revokeVerification(auth, client)).status).toBe(204)
    for (let n = 0; n < 10; n++) {
      const other = await createClientFrom(auth, `203.0.113.${n}`)
      expect((await requestVerificationFrom(auth, SHARED_ADDRESS, other)).status).toBe(202)
    }
    expectProblem(
      await requestVerificationFrom(auth, SHARED_ADDRESS, client, email),
      addressLimited(/claim-address/),
    )
  })
})

test('a mailbox gets at most five mails a day over all clients, and requests over this cap get a response in the same form', async () => {
  await using system = await startVerificationSystem({ env: { AUTH_LIMITS_FACTOR: '1' } })
  const { auth } = system
  const email = createAddress()
  const spellings = [email, email.replace('@', '+a@'), email.replace('@', '+b@'), email.toUpperCase()]
  const responses: string[] = []
  for (let n = 0; n < 8; n++) {
    const response = await requestVerification(auth, await register(auth), {
      email: spellings[n % spellings.length],
    })
    responses.push(`${response.status} ${Object.keys(JSON.parse(response.text)).join()}`)
  }
  expect(new Set(responses).size).toBe(1)
  const listStates = async () => {
    const { rows } = await system.testbed.db.query<{ state: string }>(
      'select state from mails order by state',
    )
    return rows.map(({ state }) => state)
  }
  await expect
    .poll(listStates)
    .toEqual(['dropped', 'dropped', 'dropped', 'sent', 'sent', 'sent', 'sent', 'sent'])
  expect(system.mailServer.received).toHaveLength(5)
})

test('the mails about a confirmation and its revocation are sent even when the caps are reached', async () => {
  // With a fifth of the usual caps, a mailbox gets one verification mail a day.
  await using system = await startVerificationSystem({ env: { AUTH_LIMITS_FACTOR: '0.2' } })
  const email = createAddress()
  const { agent } = await confirmAgent(system, { email })
  const listLinkKinds = () =>
    system.mailServer.received.map(({ text }) => /\/claim\?(attempt|end)=/.exec(text)?.[1])
  await expect.poll(listLinkKinds).toEqual(['attempt', 'end'])
  expect((await requestVerification(system.auth, await register(system.auth), { email })).status).toBe(202)
  const findDroppedMails = () => system.testbed.db.query(`select kind from mails where state = 'dropped'`)
  await expect.poll(async () => (await findDroppedMails()).rows).toEqual([{ kind: 'claim-link' }])
  expect(listLinkKinds()).toHaveLength(2)
  expect((await revokeVerification(system.auth, agent)).status).toBe(204)
  await expect.poll(listLinkKinds).toEqual(['attempt', 'end', undefined])
})

test('an agent cannot use up the tries of a mailbox of which it knows only the address', async () => {
  await using system = await startVerificationSystem()
  const email = createAddress()
  const attemptOfStranger = await beginVerification(system, { email })
  // More than the five tries of an attempt and the ten of a mailbox. No code was shown, so none of these counts.
  for (let n = 0; n < 20; n++)
    expect((await completeVerification(system.auth, attemptOfStranger.agent, { otp: '123456' })).status).toBe(
      409,
    )
  const attempt = await beginVerification(system, { email })
  const otp = await showCode(system.auth, attempt)
  expect((await completeVerification(system.auth, attempt.agent, { otp })).status).toBe(200)
})

test('ten wrong codes lock a mailbox for a day, and its earlier verification stays live', async () => {
  await using system = await startVerificationSystem()
  const { auth, clock } = system
  const email = createAddress()
  const earlierAttempt = await confirmAgent(system, { email })
  for (let round = 0; round < 2; round++) {
    const attemptOfStranger = await beginVerification(system, { email })
    const code = createWrongCode(await showCode(auth, attemptOfStranger))
    for (let n = 0; n < 5; n++)
      expect((await completeVerification(auth, attemptOfStranger.agent, { otp: code })).status).toBe(400)
  }
  const attempt = await beginVerification(system, { email })
  const locked = { status: 410, code: 'otp-locked', error: 'otp_locked', errorFormat: 'agent' } as const
  expectProblem(
    await completeVerification(auth, attempt.agent, { otp: await showCode(auth, attempt) }),
    locked,
  )
  expect((await requestAssertion(auth, earlierAttempt.agent)).status).toBe(200)
  clock.now = new Date(clock.now.getTime() + DAY_MS + 60_000)
  const nextAttempt = await beginVerification(system, { email, agent: attempt.agent })
  expect(
    (await completeVerification(auth, nextAttempt.agent, { otp: await showCode(auth, nextAttempt) })).status,
  ).toBe(200)
})

test('a mailbox whose cap was reached gets mails again after a day', async () => {
  await using system = await startVerificationSystem({ env: { AUTH_LIMITS_FACTOR: '1' } })
  const { auth, clock } = system
  const email = createAddress()
  for (let n = 0; n < 6; n++)
    expect((await requestVerification(auth, await register(auth), { email })).status).toBe(202)
  await expect.poll(() => system.mailServer.received.length).toBe(5)
  clock.now = new Date(clock.now.getTime() + DAY_MS + 60_000)
  const attempt = await beginVerification(system, { email })
  expect(
    (await completeVerification(auth, attempt.agent, { otp: await showCode(auth, attempt) })).status,
  ).toBe(200)
})

test('requests get 503 while the database is unavailable, and the right code is accepted afterwards', async () => {
  await using system = await startVerificationSystem()
  await using proxy = await startStoreProxy(system.testbed.database.appUrl, 5432)
  await using behindProxy = await system.startAnother({ AUTH_DATABASE_URL: proxy.url })
  // The refusal of a wrong code below shows that the instance reaches the database through the proxy.
  const attempt = await beginVerification(system)
  const otp = await showCode(system.auth, attempt)
  expect((await completeVerification(behindProxy, attempt.agent, { otp: createWrongCode(otp) })).status).toBe(
    400,
  )
  await proxy.refuse()
  const unavailable: Refusal = {
    status: 503,
    code: 'unavailable',
    error: 'temporarily_unavailable',
    headers: RETRY_AFTER,
    errorFormat: 'agent',
  }
  expectProblem(await completeVerification(behindProxy, attempt.agent, { otp }), unavailable)
  expectProblem(
    await requestVerification(behindProxy, attempt.agent, { email: createAddress() }),
    unavailable,
  )
  await proxy.restore()
  await expect
    .poll(async () => (await completeVerification(behindProxy, attempt.agent, { otp })).status)
    .toBe(200)
})
