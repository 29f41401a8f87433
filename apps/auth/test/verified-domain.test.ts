import { formatLongDate } from '@plainpath/pages'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addUrlClient } from './add-url-client.ts'
import {
  agentAuthHeader,
  createJsonContent,
  getToken,
  introspect,
  type RegisteredAgent,
  register,
  requestToken,
} from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { expectProblem } from './expect-refusal.ts'
import {
  createAssertionFields,
  createAssertionHeader,
  type KeyAgent,
  requestTokenWithFields,
  requestTokenWithNewAssertion,
  signAssertion,
} from './key-agent.ts'
import { TOKEN_STORES } from './open-auth-testbed.ts'
import { parseSecurityEvents } from './parse-security-events.ts'
import { runAuth } from './run-auth.ts'
import { type HttpResponse, send } from './send.ts'
import { ORIGIN, type RunningAuth, startAuth } from './start-auth.ts'
import {
  beginVerification,
  createAddress,
  findLinkSecret,
  openClaimPage,
  showCode,
  startVerificationSystem,
  type VerificationSystem,
} from './verification-client.ts'

const HOST = 'agent.example.org'
const URL_ID = `https://${HOST}/agent.json`
/** A name that imitates the text for a verified domain. */
const FORGED_NAME = `An agent at ${HOST} (domain checked)`

const describeAgent = async (auth: RunningAuth, headers: Record<string, string>) => {
  const response = await send(auth.url, { path: '/api/agent', headers })
  expect(response.status, response.text).toBe(200)
  return JSON.parse(response.text) as Record<string, unknown>
}
const readAccessToken = (response: HttpResponse) => {
  expect(response.status, response.text).toBe(200)
  return (JSON.parse(response.text) as { access_token: string }).access_token
}
const introspectToken = async (auth: RunningAuth, token: string) => {
  auth.confidential.add(token)
  return (await introspect(auth, token)).payload.token_introspection as Record<string, unknown>
}

describe('the verified domain of an agent', () => {
  let system: VerificationSystem
  let agent: KeyAgent
  let forger: RegisteredAgent
  beforeAll(async () => {
    system = await startVerificationSystem()
    agent = await addUrlClient(system.auth, URL_ID)
    forger = await register(system.auth, FORGED_NAME)
  })
  afterAll(async () => {
    await expectNoConfidentialValues(system.auth)
    await system[Symbol.asyncDispose]()
  })

  /** Begins e-mail verification as the URL agent. Returns the mail, the secret of its link and the id of the registration. */
  async function beginAsUrlAgent(email: string) {
    system.auth.confidential.add(email)
    const response = await postAsUrlAgent('/api/agent/claim', { email })
    expect(response.status, response.text).toBe(202)
    const [mail] = await system.mailServer.waitForMails(1, email)
    const secret = findLinkSecret(mail?.text ?? '')
    system.auth.confidential.add(secret)
    return { secret, mail, registrationId: String(JSON.parse(response.text).registration_id) }
  }
  async function postAsUrlAgent(path: string, body: unknown) {
    const content = createJsonContent(body)
    return send(system.auth.url, {
      method: 'POST',
      path,
      body: content.body,
      headers: { ...content.headers, ...(await createAssertionHeader(system.auth, agent)) },
    })
  }
  /** Runs the command `auth`, and returns its standard output. */
  const runCommand = async (...args: string[]) => {
    const settings = await system.testbed.createSettings(ORIGIN)
    return (await runAuth(args, settings, () => system.clock.now)).printed
  }
  /** Runs `work`, and returns the security events that were logged meanwhile. */
  const collectEvents = async (work: () => Promise<unknown>) => {
    const linesBefore = system.auth.logged.length
    await work()
    return parseSecurityEvents(system.auth.logged.slice(linesBefore))
  }

  test('is in GET /api/agent, with the limits that apply', async () => {
    expect(await describeAgent(system.auth, await createAssertionHeader(system.auth, agent))).toMatchObject({
      client_id: URL_ID,
      identity_type: 'anonymous',
      verified_domain: HOST,
      email_verified: false,
      // The quotas are 360 and 600, multiplied by 10,000, which is the testbed's AUTH_LIMITS_FACTOR.
      limits: [
        { policy: 'token-verified', quota: 3_600_000, window_seconds: 60 },
        { policy: 'token-domain', quota: 6_000_000, window_seconds: 60 },
      ],
    })
  })

  test('is absent for a registered agent, whatever its name', async () => {
    expect(forger).toMatchObject({ client_name: FORGED_NAME, email_verified: false })
    expect(forger).not.toHaveProperty('verified_domain')
    const description = await describeAgent(system.auth, agentAuthHeader(forger))
    expect(description).toMatchObject({
      email_verified: false,
      limits: [{ policy: 'token-client', quota: 1_200_000, window_seconds: 60 }],
    })
    expect(description).not.toHaveProperty('verified_domain')
    const introspection = await introspectToken(system.auth, await getToken(system.auth, forger))
    expect(introspection).toMatchObject({ identity_type: 'anonymous', email_verified: false })
    expect(introspection).not.toHaveProperty('verified_domain')
  })

  test('is in introspection, mails, pages, commands and security events', async () => {
    const { auth } = system
    const anonymous = await introspectToken(
      auth,
      readAccessToken(await requestTokenWithNewAssertion(auth, agent)),
    )
    expect(anonymous).toMatchObject({
      identity_type: 'anonymous',
      verified_domain: HOST,
      email_verified: false,
    })

    const email = createAddress()
    const { secret, mail, registrationId } = await beginAsUrlAgent(email)
    // The first mail does not describe the agent. The page behind its link does.
    expect(mail?.text).not.toContain('example.org (')
    expect(mail?.text).not.toMatch(/agent(\[\.\]|\.)example/)
    const today = formatLongDate(system.clock.now)
    const page = (await openClaimPage(auth, { attempt: secret })).text
    expect(page).toContain(
      `<p>The agent is at <strong>${HOST}</strong> (domain checked). It has shown us that it controls this domain. We did not check who runs it.</p>`,
    )
    expect(page).toContain('It first contacted us on <time')
    expect(page).not.toMatch(/unverified|registered with us|gave us no name/)

    const otp = await showCode(auth, { secret })
    const complete = () => postAsUrlAgent('/api/agent/claim/complete', { otp })
    let completed: HttpResponse | undefined
    expect(
      await collectEvents(async () => {
        completed = await complete()
      }),
    ).toEqual([
      { event: 'claim-made', client_id: URL_ID, registration_id: registrationId, verified_domain: HOST },
    ])
    expect(completed?.status, completed?.text).toBe(200)
    const { identity_assertion: assertion } = JSON.parse(completed?.text ?? '') as Record<string, string>
    auth.confidential.add(assertion ?? '')
    const description = `The agent is at agent[.]example[.]org (domain checked).
It has shown us that it controls this domain. We did not check who runs it.
It first contacted us on ${today}.
`
    const [, confirmationMail] = await system.mailServer.waitForMails(2, email)
    expect(confirmationMail?.text).toContain(`\n\n${description}\n`)

    expect(await describeAgent(auth, await createAssertionHeader(auth, agent))).toMatchObject({
      identity_type: 'verified_email',
      verified_domain: HOST,
      email_verified: true,
    })
    const verifiedResponse = await requestTokenWithFields(auth, {
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: assertion ?? '',
      ...createAssertionFields(await signAssertion(auth, agent)),
    })
    expect(await introspectToken(auth, readAccessToken(verifiedResponse))).toMatchObject({
      identity_type: 'verified_email',
      verified_domain: HOST,
      email_verified: true,
    })

    const facts = { client_id: URL_ID, verified_domain: HOST, email_verified: true }
    expect(JSON.parse(await runCommand('agents', 'show', URL_ID, '--json'))).toMatchObject(facts)
    expect(JSON.parse(await runCommand('agents', 'list', '--json'))).toContainEqual(
      expect.objectContaining(facts),
    )
    expect(await runCommand('agents', 'show', URL_ID)).toMatch(
      / {2}agent\.example\.org \(domain checked\) {2}e-mail verified {2}/,
    )
    expect(JSON.parse(await runCommand('claims', 'list', '--json'))).toContainEqual(
      expect.objectContaining(facts),
    )
    expect(await runCommand('claims', 'list')).toMatch(/live {2}agent\.example\.org \(domain checked\)$/m)
    expect(JSON.parse(await runCommand('claims', 'show', registrationId, '--json'))).toMatchObject({
      attempt: { client_id: URL_ID, verified_domain: HOST },
      claim: facts,
    })
    expect(JSON.parse(await runCommand('agents', 'stats', '--json'))).toMatchObject({ with_domain: 1 })

    const end = findLinkSecret(confirmationMail?.text ?? '')
    auth.confidential.add(end)
    expect((await openClaimPage(auth, { end })).text).toContain(`<strong>${HOST}</strong> (domain checked)`)
    const revokeResponse = await send(auth.url, {
      method: 'DELETE',
      path: '/api/agent/claim',
      headers: await createAssertionHeader(auth, agent),
    })
    expect(revokeResponse.status).toBe(204)
    const [, , endMail] = await system.mailServer.waitForMails(3, email)
    expect(endMail?.text).toContain(`\n\n${description}\n`)
    expect(JSON.parse(await runCommand('claims', 'show', registrationId, '--json'))).toMatchObject({
      claim: { status: 'ended', verified_domain: HOST, email_verified: false },
    })
    const headers = await createAssertionHeader(auth, agent)
    expect(
      await collectEvents(async () => {
        expect((await send(auth.url, { method: 'DELETE', path: '/api/agent', headers })).status).toBe(204)
      }),
    ).toEqual([{ event: 'client-ended', client_id: URL_ID, verified_domain: HOST, how: 'deleted' }])
  })

  test('cannot be imitated by a name in mails, pages, commands and security events', async () => {
    const { auth } = system
    const attempt = await beginVerification(system, { agent: forger })
    const page = (await openClaimPage(auth, { attempt: attempt.secret })).text
    expect(page).toContain('“An agent at agent.example.org (…)”')
    expect(page).toContain('unverified')
    expect(page).not.toMatch(/domain checked/i)
    const otp = await showCode(auth, attempt)
    const content = createJsonContent({ otp })
    const events = await collectEvents(() =>
      send(auth.url, {
        method: 'POST',
        path: '/api/agent/claim/complete',
        body: content.body,
        headers: { ...content.headers, ...agentAuthHeader(attempt.agent) },
      }),
    )
    expect(events).toEqual([
      { event: 'claim-made', client_id: forger.client_id, registration_id: attempt.registrationId },
    ])
    const [, confirmationMail] = await system.mailServer.waitForMails(2, attempt.email)
    auth.confidential.add(findLinkSecret(confirmationMail?.text ?? ''))
    expect(confirmationMail?.text).toContain(
      '\n   “An agent at agent[.]example[.]org (…)”\n\nThat name is unverified',
    )
    expect(confirmationMail?.text).not.toMatch(/domain checked/i)

    const shownAgent = JSON.parse(await runCommand('agents', 'show', forger.client_id, '--json'))
    expect(shownAgent).toMatchObject({ client_name: FORGED_NAME, email_verified: true })
    expect(shownAgent).not.toHaveProperty('verified_domain')
    expect(await runCommand('agents', 'show', forger.client_id)).toMatch(
      / {2}e-mail verified {2}"An agent at agent\.example\.org \(domain checked\)"$/m,
    )
    const verifications = JSON.parse(await runCommand('claims', 'list', '--json')) as Record<
      string,
      unknown
    >[]
    const forgersVerification = verifications.find(({ client_id: id }) => id === forger.client_id)
    expect(forgersVerification).toMatchObject({ email_verified: true })
    expect(forgersVerification).not.toHaveProperty('verified_domain')
  })

  test('is shown in its ASCII form if it has letters outside ASCII', async () => {
    // These are Cyrillic letters that look like “epic”.
    const spoof = await addUrlClient(system.auth, 'https://xn--e1awd7f.example/agent.json')
    const { auth } = system
    expect(await describeAgent(auth, await createAssertionHeader(auth, spoof))).toMatchObject({
      verified_domain: 'xn--e1awd7f.example',
    })
  })
})

describe.for(TOKEN_STORES)('with tokens in %s, the limits of agents with a verified domain', (tokenStore) => {
  const readPolicies = (response: HttpResponse) => response.headers.get('ratelimit-policy')

  test('are higher at the token endpoint than those of registered agents', async () => {
    // The quotas become 6 for an address, 3.6 for a verified client, 1.2 for a registered one, and 6 for a domain, rounded down.
    await using auth = await startAuth({ tokenStore, env: { AUTH_LIMITS_FACTOR: '0.01' } })
    const agent = await addUrlClient(auth, URL_ID)
    const response = await requestTokenWithNewAssertion(auth, agent)
    expect(response.status, response.text).toBe(200)
    expect(readPolicies(response)).toBe(
      '"token-address";q=6;w=60, "token-verified";q=3;w=60, "token-domain";q=6;w=60',
    )
    const registeredResponse = await requestToken(auth, await register(auth, FORGED_NAME))
    expect(readPolicies(registeredResponse)).toBe('"token-address";q=6;w=60, "token-client";q=1;w=60')
    expect(registeredResponse.headers.get('ratelimit')).toMatch(
      /^"token-address";r=4;t=\d+, "token-client";r=0;t=\d+$/,
    )
  })

  test('are shared by the agents of one registrable domain, but not by the domains under a public suffix', async () => {
    await using auth = await startAuth({
      tokenStore,
      env: { AUTH_LIMITS_FACTOR: '0.01', AUTH_TRUSTED_PROXIES: '127.0.0.1' },
    })
    // Each request comes from a different address, so that no limit per address applies.
    let requestCount = 0
    const request = async (agent: KeyAgent) => {
      requestCount += 1
      return send(auth.url, {
        path: '/api/agent',
        headers: {
          'x-forwarded-for': `203.0.113.${requestCount}`,
          ...(await createAssertionHeader(auth, agent)),
        },
      })
    }
    // Three agents send two requests each: six is the limit of the domain, and two is below the limit of three for each agent.
    const useUpDomainLimit = async (host: string) => {
      for (const path of ['1', '2', '3']) {
        const agent = await addUrlClient(auth, `https://${host}/${path}`)
        for (const remaining of [2, 1])
          expect((await request(agent)).headers.get('ratelimit')).toContain(`"token-verified";r=${remaining}`)
      }
    }
    await useUpDomainLimit('one.example.org')
    expectProblem(await request(await addUrlClient(auth, 'https://two.example.org/1')), {
      status: 429,
      code: 'rate-limited',
      error: 'rate_limited',
      errorFormat: 'agent',
      says: /"token-domain" allows 6 in 60 s/,
    })
    // `github.io` is a public suffix, so `a.github.io` and `b.github.io` are two registrable domains.
    await useUpDomainLimit('a.github.io')
    expect((await request(await addUrlClient(auth, 'https://a.github.io/4'))).status).toBe(429)
    expect((await request(await addUrlClient(auth, 'https://b.github.io/1'))).status).toBe(200)
  })
})
