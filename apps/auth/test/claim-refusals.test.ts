import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  agentAuthHeader,
  basicAuth,
  createJsonContent,
  type RegisteredAgent,
  register,
} from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { CANARY, countStored, expectRefusal, type Refusal } from './expect-refusal.ts'
import { formatRawRequest, send, sendRaw } from './send.ts'
import type { RunningAuth } from './start-auth.ts'
import {
  beginVerification,
  completeVerification,
  createAddress,
  findHeading,
  openClaimPage,
  pressButton,
  requestVerification,
  showCode,
  startVerificationSystem,
  type VerificationSystem,
} from './verification-client.ts'

let system: VerificationSystem
let auth: RunningAuth
let agent: RegisteredAgent
beforeAll(async () => {
  system = await startVerificationSystem()
  auth = system.auth
  agent = await register(auth, 'Evil http://evil.example/ Agent')
})
afterAll(async () => {
  await expectNoConfidentialValues(auth)
  await system[Symbol.asyncDispose]()
})

const invalidRequest = (says?: RegExp): Refusal => ({
  status: 400,
  code: 'invalid-request',
  error: 'invalid_request',
  errorFormat: 'agent',
  ...(says && { says }),
})

describe('POST /api/agent/claim refuses, storing and mailing nothing:', () => {
  test.for([
    ['no address', {}],
    ['null as the address', { email: null }],
    ['a number as the address', { email: 5 }],
    ['two different addresses', { email: 'a@example.org', login_hint: 'b@example.org' }],
    ['an invisible character', { email: `a\u200b${CANARY}@example.org` }],
    ['a text-direction override', { email: `a\u202e@example.org` }],
    ['a quoted local part', { email: '"a b"@example.org' }],
    ['no domain', { email: 'a@' }],
    ['an address literal', { email: 'a@[127.0.0.1]' }],
    ['a host without a dot', { email: 'a@localhost' }],
    [
      'an address that is too long',
      { email: `${'a'.repeat(64)}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.example.org` },
    ],
    ['two addresses with a comma', { email: 'a@example.org,evil@example.com' }],
    ['two addresses with a semicolon', { email: 'a@example.org;evil@example.com' }],
    ['a name before the address', { email: `"${CANARY}" <a@example.org>` }],
    ['a line break', { email: 'a@example.org\r\nBcc: evil@example.com' }],
    ['an encoded line break', { email: 'a%0d%0aBcc:evil@example.com@example.org' }],
    ['a line separator', { login_hint: 'a\u2028@example.org' }],
    ['an encoded word', { email: '=?utf-8?q?a?=@example.org' }],
    ['punycode that cannot be decoded', { email: 'a@xn--a.org' }],
    ['a list as the body', ['a@example.org']],
  ] satisfies [string, unknown][])('%s', async ([_title, body]) => {
    await expectRefusal(auth, () => requestVerification(auth, agent, body), invalidRequest())
  })

  test('no credentials, and wrong ones', async () => {
    const invalidClient = {
      status: 401,
      code: 'invalid-client',
      error: 'invalid_client',
      errorFormat: 'agent',
    } as const
    for (const path of ['/api/agent/claim', '/api/agent/claim/complete'])
      for (const headers of [
        {},
        basicAuth(agent.client_id, 'pps_wrong'),
        basicAuth(`agt_${'A'.repeat(22)}`, 'x'),
      ]) {
        const { headers: type, body } = createJsonContent({ email: createAddress(), otp: '123456' })
        const request = () => send(auth.url, { method: 'POST', path, headers: { ...type, ...headers }, body })
        await expectRefusal(auth, request, invalidClient)
      }
  })
})

test('POST /api/agent/claim stores an attempt and a mail for each valid request', async () => {
  for (const body of [
    { email: createAddress() },
    { login_hint: createAddress(), claim_token: 'of another dialect', unknown: { member: true } },
  ]) {
    const storedBefore = await countStored(auth)
    expect((await requestVerification(auth, agent, body)).status).toBe(202)
    expect(await countStored(auth)).toEqual({
      ...storedBefore,
      claim_attempts: Number(storedBefore['claim_attempts']) + 1,
      mails: Number(storedBefore['mails']) + 1,
    })
  }
})

describe('POST /api/agent/claim/complete refuses, counting no try:', () => {
  const countTries = async (attemptId: string) => {
    const { rows } = await system.testbed.db.query<{ tries: number }>(
      'select tries from claim_attempts where id = $1',
      [attemptId],
    )
    return rows[0]?.tries
  }

  test.for([
    ['no code', {}],
    ['a code as a number', { otp: 12345 }],
    ['five digits', { otp: '12345' }],
    ['seven digits', { otp: '1234567' }],
    ['letters', { otp: 'abcdef' }],
    ['numerals that are not digits', { otp: '一二三四五六' }],
    ['a list of codes', { otp: ['123456', '123457'] }],
    ['a long code', { otp: '1'.repeat(65) }],
    ['two different codes', { otp: '123456', user_code: '123457' }],
    ['an attempt id in the wrong form', { otp: '123456', claim_attempt_id: `${CANARY}' or 1=1` }],
  ] satisfies [string, unknown][])('%s', async ([_title, body]) => {
    const attempt = await beginVerification(system)
    await showCode(auth, attempt)
    await expectRefusal(auth, () => completeVerification(auth, attempt.agent, body), invalidRequest())
    expect(await countTries(attempt.id)).toBe(0)
  })

  test('a code in the query, which is not logged', async () => {
    const attempt = await beginVerification(system)
    const code = await showCode(auth, attempt)
    expect(auth.confidentialCodes).toContain(code)
    const request = () =>
      send(auth.url, {
        method: 'POST',
        path: `/api/agent/claim/complete?otp=${code}&canary=${CANARY}`,
        headers: { ...agentAuthHeader(attempt.agent), 'content-type': 'application/json' },
        body: '{}',
      })
    await expectRefusal(auth, request, invalidRequest())
    expect(await countTries(attempt.id)).toBe(0)
    await expectNoConfidentialValues(auth)
    expect(auth.logged.join('')).not.toContain(CANARY)
  })
})

describe('/claim', () => {
  test('the mailed link has the configured origin, whatever the forwarding headers say', async () => {
    const email = createAddress()
    auth.confidential.add(email)
    const body = JSON.stringify({ email })
    const headers = [
      `Authorization: ${agentAuthHeader(agent).authorization}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'X-Forwarded-Host: evil.example',
      'Forwarded: host=evil.example;proto=http',
    ]
    const [response] = await sendRaw(auth.url, formatRawRequest('POST /api/agent/claim', headers, body))
    expect(response?.status).toBe(202)
    const [mail] = await system.mailServer.waitForMails(1, email)
    const links = mail?.text.match(/https?:\/\/\S+/g)
    expect(links).toEqual([
      'https://plainpath.example',
      expect.stringMatching(/^https:\/\/plainpath\.example\/claim\?attempt=[\w-]{43}$/),
    ])
    auth.confidential.add(String(links?.[1]).slice(-43))
  })

  test('shows the name of the agent in no mail before the confirmation, and afterwards only on one line', async () => {
    const attempt = await beginVerification(system, { agent })
    const otp = await showCode(auth, attempt)
    expect((await completeVerification(auth, agent, { otp })).status).toBe(200)
    const mails = await system.mailServer.waitForMails(2, attempt.email)
    expect(mails[0]?.raw).not.toMatch(/evil|html/i)
    expect(mails[1]?.text.match(/^.*evil.*$/gm)).toEqual([expect.stringMatching(/^ {3}“[^“”]*”$/)])
    for (const { text, to, parsed } of mails) {
      expect(to).toEqual([attempt.email])
      expect(text).not.toContain(agent.client_id)
      expect(parsed.html).toBeUndefined()
      expect(text.match(/https?:\/\/[^/\s]+/g)).toEqual([auth.origin, auth.origin])
      for (const line of text.split('\n').filter((each) => !each.includes('http')))
        expect(line.length).toBeLessThanOrEqual(90)
    }
  })

  test.for([
    ['no secret', {}],
    ['a short secret', { attempt: 'abc' }],
    ['an unknown secret', { attempt: 'A'.repeat(43) }],
    ['SQL as the secret', { attempt: "' or 1=1 --" }],
    ['markup as the secret', { attempt: '"><script>alert(1)</script>' }],
  ] satisfies [string, Record<string, string>][])('a link with %s does not work', async ([_title, query]) => {
    const storedBefore = await countStored(auth)
    const pages = [
      await openClaimPage(auth, query),
      await pressButton(auth, { ...query, answer: 'yes' }),
      await pressButton(auth, { ...query, answer: 'no' }),
      await pressButton(auth, query),
    ]
    for (const page of pages) {
      expect([page.status, findHeading(page.text)]).toEqual([404, 'This link does not work'])
      expect(page.text).not.toContain('<script')
    }
    expect(await countStored(auth)).toEqual(storedBefore)
  })

  test('says that a link with an unknown secret to end access does not work', async () => {
    const end = 'A'.repeat(43)
    for (const page of [await openClaimPage(auth, { end }), await pressButton(auth, { end })])
      expect([page.status, findHeading(page.text)]).toEqual([404, 'This link does not work'])
  })

  test('rejects forms from other sites and other origins, and accepts a form with the origin null', async () => {
    const attempt = await beginVerification(system)
    const yes = { attempt: attempt.secret, answer: 'yes' }
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }]) {
      const page = await pressButton(auth, yes, headers)
      expect([page.status, findHeading(page.text)]).toEqual([
        403,
        'Requests from other sites are not accepted',
      ])
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(page.text).not.toContain(attempt.secret)
    }
    const page = await send(auth.url, {
      method: 'POST',
      path: '/claim',
      headers: { origin: 'null' },
      body: new URLSearchParams(yes),
    })
    expect([page.status, findHeading(page.text)]).toEqual([200, 'The code for your agent'])
  })

  test('logs no link secrets, addresses, phrases or codes', async () => {
    const attempt = await beginVerification(system)
    const code = await showCode(auth, attempt)
    await openClaimPage(auth, { attempt: attempt.secret })
    const lines = auth.logged.join('')
    expect(lines).toContain('"route":"/claim"')
    for (const secret of [attempt.secret, attempt.email, attempt.phrase]) expect(lines).not.toContain(secret)
    expect(auth.confidentialCodes).toContain(code)
    await expectNoConfidentialValues(auth)
  })
})
