import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asAgent, basic, json, type Registered, register } from './agent-client.ts'
import {
  begin,
  type ClaimsUnderTest,
  claim,
  complete,
  headingIn,
  newAddress,
  openClaimPage,
  pressButton,
  showCode,
  startClaims,
} from './claim-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { CANARY, countStored, expectRefusal, type Refusal } from './expect-refusal.ts'
import { rawRequest, send, sendRaw } from './send.ts'
import type { RunningAuth } from './start-auth.ts'

let under: ClaimsUnderTest
let auth: RunningAuth
let agent: Registered
beforeAll(async () => {
  under = await startClaims()
  auth = under.auth
  agent = await register(auth, 'Evil http://evil.example/ Agent')
})
afterAll(async () => {
  await expectNothingInClear(auth)
  await under[Symbol.asyncDispose]()
})

const invalid = (says?: RegExp): Refusal => ({
  status: 400,
  code: 'invalid-request',
  error: 'invalid_request',
  form: 'agent',
  ...(says && { says }),
})

describe('POST /api/agent/claim refuses, and keeps and mails nothing:', () => {
  test.for([
    ['no address', {}],
    ['null for an address', { email: null }],
    ['a number', { email: 5 }],
    ['two different addresses', { email: 'a@example.org', login_hint: 'b@example.org' }],
    ['an invisible letter', { email: `a\u200b${CANARY}@example.org` }],
    ['a text direction', { email: `a\u202e@example.org` }],
    ['a quoted local part', { email: '"a b"@example.org' }],
    ['no domain', { email: 'a@' }],
    ['an address literal', { email: 'a@[127.0.0.1]' }],
    ['a host without a dot', { email: 'a@localhost' }],
    [
      '255 characters',
      { email: `${'a'.repeat(64)}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.example.org` },
    ],
    ['two addresses with a comma', { email: 'a@example.org,evil@example.com' }],
    ['two addresses with a semicolon', { email: 'a@example.org;evil@example.com' }],
    ['a name before it', { email: `"${CANARY}" <a@example.org>` }],
    ['a line end', { email: 'a@example.org\r\nBcc: evil@example.com' }],
    ['an encoded line end', { email: 'a%0d%0aBcc:evil@example.com@example.org' }],
    ['a line separator', { login_hint: 'a\u2028@example.org' }],
    ['an encoded word', { email: '=?utf-8?q?a?=@example.org' }],
    ['punycode that stands for nothing', { email: 'a@xn--a.org' }],
    ['a list', ['a@example.org']],
  ] satisfies [string, unknown][])('%s', async ([_what, body]) => {
    await expectRefusal(auth, () => claim(auth, agent, body), invalid())
  })

  test('no credentials, and wrong ones', async () => {
    const unauthenticated = {
      status: 401,
      code: 'invalid-client',
      error: 'invalid_client',
      form: 'agent',
    } as const
    for (const path of ['/api/agent/claim', '/api/agent/claim/complete'])
      for (const headers of [{}, basic(agent.client_id, 'pps_wrong'), basic(`agt_${'A'.repeat(22)}`, 'x')]) {
        const { headers: type, body } = json({ email: newAddress(), otp: '123456' })
        const request = () => send(auth.url, { method: 'POST', path, headers: { ...type, ...headers }, body })
        await expectRefusal(auth, request, unauthenticated)
      }
  })

  test('stores an attempt and a mail for the valid counterparts', async () => {
    for (const body of [
      { email: newAddress() },
      { login_hint: newAddress(), claim_token: 'of another dialect', unknown: { member: true } },
    ]) {
      const storedBefore = await countStored(auth)
      expect((await claim(auth, agent, body)).status).toBe(202)
      const after = await countStored(auth)
      expect(after).toEqual({
        ...storedBefore,
        claim_attempts: Number(storedBefore['claim_attempts']) + 1,
        mails: Number(storedBefore['mails']) + 1,
      })
    }
  })
})

describe('POST /api/agent/claim/complete refuses, and counts no try:', () => {
  test.for([
    ['no code', {}],
    ['a code as a number', { otp: 12345 }],
    ['five digits', { otp: '12345' }],
    ['seven digits', { otp: '1234567' }],
    ['letters', { otp: 'abcdef' }],
    ['Arabic-Indic digits', { otp: '١٢٣٤٥٦' }],
    ['a list of codes', { otp: ['123456', '123457'] }],
    ['a long code', { otp: '1'.repeat(65) }],
    ['two different codes', { otp: '123456', user_code: '123457' }],
    ['an attempt that is no id', { otp: '123456', claim_attempt_id: `${CANARY}' or 1=1` }],
  ] satisfies [string, unknown][])('%s', async ([_what, body]) => {
    const attempt = await begin(under)
    await showCode(auth, attempt)
    await expectRefusal(auth, () => complete(auth, attempt.agent, body), invalid())
  })

  test('a code in the query, which nothing reads or logs', async () => {
    const attempt = await begin(under)
    const code = await showCode(auth, attempt)
    const request = () =>
      send(auth.url, {
        method: 'POST',
        path: `/api/agent/claim/complete?otp=${code}&canary=${CANARY}`,
        headers: { ...asAgent(attempt.agent), 'content-type': 'application/json' },
        body: '{}',
      })
    await expectRefusal(auth, request, invalid())
    expect(auth.logged.join('')).not.toContain(code)
    expect(auth.logged.join('')).not.toContain(CANARY)
  })
})

describe('/claim', () => {
  test('the mailed link has the configured origin, whatever the Host header', async () => {
    const email = newAddress()
    auth.confidential.add(email)
    const body = JSON.stringify({ email })
    const headers = [
      `Authorization: ${asAgent(agent).authorization}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'X-Forwarded-Host: evil.example',
      'Forwarded: host=evil.example;proto=http',
    ]
    const [response] = await sendRaw(auth.url, rawRequest('POST /api/agent/claim', headers, body))
    expect(response?.status).toBe(202)
    const [mail] = await under.mail.mails(1, email)
    const links = mail?.text.match(/https?:\/\/\S+/g)
    expect(links).toEqual([
      'https://plainpath.example',
      expect.stringMatching(/^https:\/\/plainpath\.example\/claim\?attempt=[\w-]{43}$/),
    ])
    auth.confidential.add(String(links?.[1]).slice(-43))
  })

  test('shows the agent’s text in no mail before the person confirms it, and then in one line that is no link', async () => {
    const attempt = await begin(under, { agent })
    const otp = await showCode(auth, attempt)
    expect((await complete(auth, agent, { otp })).status).toBe(200)
    const mails = await under.mail.mails(2, attempt.email)
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
    ['a short one', { attempt: 'abc' }],
    ['one that nobody has', { attempt: 'A'.repeat(43) }],
    ['SQL', { attempt: "' or 1=1 --" }],
    ['markup', { attempt: '"><script>alert(1)</script>' }],
  ] satisfies [string, Record<string, string>][])('%s leads nowhere', async ([_what, query]) => {
    const storedBefore = await countStored(auth)
    const pages = [
      await openClaimPage(auth, query),
      await pressButton(auth, { ...query, answer: 'yes' }),
      await pressButton(auth, { ...query, answer: 'no' }),
      await pressButton(auth, query),
    ]
    for (const page of pages) {
      expect([page.status, headingIn(page.text)]).toEqual([404, 'This link does not work'])
      expect(page.text).not.toContain('<script')
    }
    expect(await countStored(auth)).toEqual(storedBefore)
  })

  test('says so when a link to end a claim is invalid', async () => {
    for (const end of ['A'.repeat(43)])
      for (const page of [await openClaimPage(auth, { end }), await pressButton(auth, { end })])
        expect([page.status, headingIn(page.text)]).toEqual([404, 'This link does not work'])
  })

  test('rejects forms from other sites, and accepts a browser that hides its origin', async () => {
    const attempt = await begin(under)
    const yes = { attempt: attempt.secret, answer: 'yes' }
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }]) {
      const page = await pressButton(auth, yes, headers)
      expect([page.status, headingIn(page.text)]).toEqual([403, 'Requests from other sites are not accepted'])
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(page.text).not.toContain(attempt.secret)
    }
    const old = await send(auth.url, {
      method: 'POST',
      path: '/claim',
      headers: { origin: 'null' },
      body: new URLSearchParams(yes),
    })
    expect([old.status, headingIn(old.text)]).toEqual([200, 'The code for your agent'])
  })

  test('logs no link secrets and no codes', async () => {
    const attempt = await begin(under)
    const code = await showCode(auth, attempt)
    await openClaimPage(auth, { attempt: attempt.secret })
    const lines = auth.logged.join('')
    expect(lines).toContain('"route":"/claim"')
    for (const word of [attempt.secret, attempt.email, attempt.phrase, `"${code}"`])
      expect(lines).not.toContain(word)
  })
})
