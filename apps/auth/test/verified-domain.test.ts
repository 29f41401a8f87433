import { formatLongDate } from '@plainpath/pages'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addUrlAgent } from './add-url-agent.ts'
import {
  asAgent,
  getToken,
  introspect,
  json,
  type Registered,
  register,
  requestToken,
} from './agent-client.ts'
import {
  begin,
  type ClaimsUnderTest,
  newAddress,
  openClaimPage,
  secretIn,
  showCode,
  startClaims,
} from './claim-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { expectProblem } from './expect-refusal.ts'
import { assertionFields, assertionOf, inHeader, type KeyAgent, tokenByKey, tokenFor } from './key-agent.ts'
import { TOKEN_PLACES } from './open-auth-stores.ts'
import { runAuth } from './run-auth.ts'
import { securityEventsIn } from './security-events-in.ts'
import { type HttpResponse, send } from './send.ts'
import { ORIGIN, type RunningAuth, startAuth } from './start-auth.ts'

const HOST = 'agent.example.org'
const URL_ID = `https://${HOST}/agent.json`
/** A name that says what only a verified domain may say. */
const FORGED = `An agent at ${HOST} (domain checked)`

const describeSelf = async (auth: RunningAuth, headers: Record<string, string>) => {
  const response = await send(auth.url, { path: '/api/agent', headers })
  expect(response.status, response.text).toBe(200)
  return JSON.parse(response.text) as Record<string, unknown>
}
const accessToken = (response: HttpResponse) => {
  expect(response.status, response.text).toBe(200)
  return (JSON.parse(response.text) as { access_token: string }).access_token
}
const aboutToken = async (auth: RunningAuth, token: string) => {
  auth.confidential.add(token)
  return (await introspect(auth, token)).payload.token_introspection as Record<string, unknown>
}

describe('the verified domain of an agent', () => {
  let under: ClaimsUnderTest
  let agent: KeyAgent
  let forger: Registered
  beforeAll(async () => {
    under = await startClaims()
    agent = await addUrlAgent(under.auth, URL_ID)
    forger = await register(under.auth, FORGED)
  })
  afterAll(async () => {
    await expectNothingInClear(under.auth)
    await under[Symbol.asyncDispose]()
  })

  /** Begins e-mail verification as the URL agent. @returns the secret of the mailed link */
  async function beginByUrl(email: string) {
    under.auth.confidential.add(email)
    const begun = await postAs('/api/agent/claim', { email })
    expect(begun.status, begun.text).toBe(202)
    const [mail] = await under.mail.mails(1, email)
    const secret = secretIn(mail?.text ?? '')
    under.auth.confidential.add(secret)
    return { secret, mail, registrationId: String(JSON.parse(begun.text).registration_id) }
  }
  async function postAs(path: string, body: unknown) {
    const sent = json(body)
    return send(under.auth.url, {
      method: 'POST',
      path,
      body: sent.body,
      headers: { ...sent.headers, ...(await inHeader(under.auth, agent)) },
    })
  }
  const command = async (...args: string[]) => {
    const settings = await under.stores.settingsFor(ORIGIN)
    return (await runAuth(args, settings, () => under.clock.now)).printed
  }
  const eventsOf = async (work: () => Promise<unknown>) => {
    const linesBefore = under.auth.logged.length
    await work()
    return securityEventsIn(under.auth.logged.slice(linesBefore))
  }

  test('is its domain, in GET /api/agent, with the limits that apply', async () => {
    expect(await describeSelf(under.auth, await inHeader(under.auth, agent))).toMatchObject({
      client_id: URL_ID,
      identity_type: 'anonymous',
      verified_domain: HOST,
      email_verified: false,
      limits: [
        { policy: 'token-verified', quota: 3_600_000, window_seconds: 60 },
        { policy: 'token-domain', quota: 6_000_000, window_seconds: 60 },
      ],
    })
  })

  test('is absent for a registered agent, whatever its name', async () => {
    expect(forger).toMatchObject({ client_name: FORGED, email_verified: false })
    expect(forger).not.toHaveProperty('verified_domain')
    const described = await describeSelf(under.auth, asAgent(forger))
    expect(described).toMatchObject({
      email_verified: false,
      limits: [{ policy: 'token-client', quota: 1_200_000, window_seconds: 60 }],
    })
    expect(described).not.toHaveProperty('verified_domain')
    const introspected = await aboutToken(under.auth, await getToken(under.auth, forger))
    expect(introspected).toMatchObject({ identity_type: 'anonymous', email_verified: false })
    expect(introspected).not.toHaveProperty('verified_domain')
  })

  test('is in introspection, the mails, the pages, the commands and the security events of an agent with a domain', async () => {
    const { auth } = under
    const anonymous = await aboutToken(auth, accessToken(await tokenByKey(auth, agent)))
    expect(anonymous).toMatchObject({
      identity_type: 'anonymous',
      verified_domain: HOST,
      email_verified: false,
    })

    const email = newAddress()
    const { secret, mail, registrationId } = await beginByUrl(email)
    expect(mail?.text).not.toContain('example.org (')
    expect(mail?.text).not.toMatch(/agent(\[\.\]|\.)example/)
    const today = formatLongDate(under.clock.now)
    const page = (await openClaimPage(auth, { attempt: secret })).text
    expect(page).toContain(
      `<p>The agent is at <strong>${HOST}</strong> (domain checked). It has shown us that it controls this domain. We did not check who runs it.</p>`,
    )
    expect(page).toContain('It first contacted us on <time')
    expect(page).not.toMatch(/unverified|registered with us|gave us no name/)

    const otp = await showCode(auth, { secret })
    const complete = () => postAs('/api/agent/claim/complete', { otp })
    let completed: HttpResponse | undefined
    expect(
      await eventsOf(async () => {
        completed = await complete()
      }),
    ).toEqual([
      { event: 'claim-made', client_id: URL_ID, registration_id: registrationId, verified_domain: HOST },
    ])
    expect(completed?.status, completed?.text).toBe(200)
    const { identity_assertion: assertion } = JSON.parse(completed?.text ?? '') as Record<string, string>
    auth.confidential.add(assertion ?? '')
    const described = `The agent is at agent[.]example[.]org (domain checked).
It has shown us that it controls this domain. We did not check who runs it.
It first contacted us on ${today}.
`
    const [, told] = await under.mail.mails(2, email)
    expect(told?.text).toContain(`\n\n${described}\n`)

    expect(await describeSelf(auth, await inHeader(auth, agent))).toMatchObject({
      identity_type: 'verified_email',
      verified_domain: HOST,
      email_verified: true,
    })
    const verified = await tokenFor(auth, {
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: assertion ?? '',
      ...assertionFields(await assertionOf(auth, agent)),
    })
    expect(await aboutToken(auth, accessToken(verified))).toMatchObject({
      identity_type: 'verified_email',
      verified_domain: HOST,
      email_verified: true,
    })

    const facts = { client_id: URL_ID, verified_domain: HOST, email_verified: true }
    expect(JSON.parse(await command('agents', 'show', URL_ID, '--json'))).toMatchObject(facts)
    expect(JSON.parse(await command('agents', 'list', '--json'))).toContainEqual(
      expect.objectContaining(facts),
    )
    expect(await command('agents', 'show', URL_ID)).toMatch(
      / {2}agent\.example\.org \(domain checked\) {2}e-mail verified {2}/,
    )
    expect(JSON.parse(await command('claims', 'list', '--json'))).toContainEqual(
      expect.objectContaining(facts),
    )
    expect(await command('claims', 'list')).toMatch(/live {2}agent\.example\.org \(domain checked\)$/m)
    expect(JSON.parse(await command('claims', 'show', registrationId, '--json'))).toMatchObject({
      attempt: { client_id: URL_ID, verified_domain: HOST },
      claim: facts,
    })
    expect(JSON.parse(await command('agents', 'stats', '--json'))).toMatchObject({ with_domain: 1 })

    const end = secretIn(told?.text ?? '')
    auth.confidential.add(end)
    expect((await openClaimPage(auth, { end })).text).toContain(`<strong>${HOST}</strong> (domain checked)`)
    const leave = async () =>
      send(auth.url, {
        method: 'DELETE',
        path: '/api/agent/claim',
        headers: await inHeader(auth, agent),
      })
    expect((await leave()).status).toBe(204)
    const [, , last] = await under.mail.mails(3, email)
    expect(last?.text).toContain(`\n\n${described}\n`)
    expect(JSON.parse(await command('claims', 'show', registrationId, '--json'))).toMatchObject({
      claim: { status: 'ended', verified_domain: HOST, email_verified: false },
    })
    const headers = await inHeader(auth, agent)
    expect(
      await eventsOf(async () => {
        expect((await send(auth.url, { method: 'DELETE', path: '/api/agent', headers })).status).toBe(204)
      }),
    ).toEqual([{ event: 'client-ended', client_id: URL_ID, verified_domain: HOST, how: 'deleted' }])
  })

  test('cannot be forged by a name, in mails, pages, commands and security events', async () => {
    const { auth } = under
    const attempt = await begin(under, { agent: forger })
    const page = (await openClaimPage(auth, { attempt: attempt.secret })).text
    expect(page).toContain('“An agent at agent.example.org (…)”')
    expect(page).toContain('unverified')
    expect(page).not.toMatch(/domain checked/i)
    const otp = await showCode(auth, attempt)
    const { agent: made } = attempt
    const sent = json({ otp })
    const events = await eventsOf(() =>
      send(auth.url, {
        method: 'POST',
        path: '/api/agent/claim/complete',
        body: sent.body,
        headers: { ...sent.headers, ...asAgent(made) },
      }),
    )
    expect(events).toEqual([
      { event: 'claim-made', client_id: forger.client_id, registration_id: attempt.registrationId },
    ])
    const [, told] = await under.mail.mails(2, attempt.email)
    auth.confidential.add(secretIn(told?.text ?? ''))
    expect(told?.text).toContain('\n   “An agent at agent[.]example[.]org (…)”\n\nThat name is unverified')
    expect(told?.text).not.toMatch(/domain checked/i)

    const shown = JSON.parse(await command('agents', 'show', forger.client_id, '--json'))
    expect(shown).toMatchObject({ client_name: FORGED, email_verified: true })
    expect(shown).not.toHaveProperty('verified_domain')
    expect(await command('agents', 'show', forger.client_id)).toMatch(
      / {2}e-mail verified {2}"An agent at agent\.example\.org \(domain checked\)"$/m,
    )
    const claims = JSON.parse(await command('claims', 'list', '--json')) as Record<string, unknown>[]
    const forgedClaim = claims.find(({ client_id: id }) => id === forger.client_id)
    expect(forgedClaim).toMatchObject({ email_verified: true })
    expect(forgedClaim).not.toHaveProperty('verified_domain')
  })

  test('shows a host with other letters in its ASCII form', async () => {
    const spoof = await addUrlAgent(under.auth, 'https://xn--e1awd7f.example/agent.json')
    const { auth } = under
    expect(await describeSelf(auth, await inHeader(auth, spoof))).toMatchObject({
      verified_domain: 'xn--e1awd7f.example',
    })
  })
})

describe.for(TOKEN_PLACES)('limits of agents with a domain, counted as with tokens in %s,', (tokens) => {
  const policies = (response: HttpResponse) => response.headers.get('ratelimit-policy')

  test('are higher at the token endpoint, and those of registered agents do not change', async () => {
    await using auth = await startAuth({ tokens, env: { AUTH_LIMITS_FACTOR: '0.01' } })
    const agent = await addUrlAgent(auth, URL_ID)
    const response = await tokenByKey(auth, agent)
    expect(response.status, response.text).toBe(200)
    expect(policies(response)).toBe(
      '"token-address";q=6;w=60, "token-verified";q=3;w=60, "token-domain";q=6;w=60',
    )
    const registered = await requestToken(auth, await register(auth, FORGED))
    expect(policies(registered)).toBe('"token-address";q=6;w=60, "token-client";q=1;w=60')
    expect(registered.headers.get('ratelimit')).toMatch(
      /^"token-address";r=4;t=\d+, "token-client";r=0;t=\d+$/,
    )
  })

  test('are shared by the agents of one registrable domain, and not under a public suffix', async () => {
    await using auth = await startAuth({
      tokens,
      env: { AUTH_LIMITS_FACTOR: '0.01', AUTH_TRUSTED_PROXIES: '127.0.0.1' },
    })
    /** Each request comes from an address of its own. */
    let address = 0
    const request = async (agent: KeyAgent) => {
      address += 1
      return send(auth.url, {
        path: '/api/agent',
        headers: { 'x-forwarded-for': `203.0.113.${address}`, ...(await inHeader(auth, agent)) },
      })
    }
    const useUp = async (host: string) => {
      for (const path of ['1', '2', '3']) {
        const agent = await addUrlAgent(auth, `https://${host}/${path}`)
        for (const left of [2, 1])
          expect((await request(agent)).headers.get('ratelimit')).toContain(`"token-verified";r=${left}`)
      }
    }
    await useUp('one.example.org')
    expectProblem(await request(await addUrlAgent(auth, 'https://two.example.org/1')), {
      status: 429,
      code: 'rate-limited',
      error: 'rate_limited',
      form: 'agent',
      says: /"token-domain" allows 6 in 60 s/,
    })
    await useUp('a.github.io')
    expect((await request(await addUrlAgent(auth, 'https://a.github.io/4'))).status).toBe(429)
    expect((await request(await addUrlAgent(auth, 'https://b.github.io/1'))).status).toBe(200)
  })
})
