import { MINUTE_MS, RULES } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { register } from './agent-client.ts'
import { Browser } from './browser.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import {
  completeSignIn,
  countRowsFrom,
  countVerifications,
  exampleAppAt,
  type SignInSystem,
  startSignInSystem,
  Tab,
} from './sign-in-client.ts'
import {
  beginVerification,
  completeVerification,
  createAddress,
  createWrongCode,
  findLinkSecret,
  showCode,
  type VerificationSystem,
} from './verification-client.ts'

let system: SignInSystem
beforeAll(async () => {
  system = await startSignInSystem()
})
afterAll(async () => {
  await expectNoConfidentialValues(system.auth)
  await system[Symbol.asyncDispose]()
})

/** Reads how many tries the newest attempt with the tab's app has counted. */
const readTries = (tab: Tab) =>
  system.testbed.db
    .query<{ tries: number }>(
      `select tries from claim_attempts join agents on agents.id = agent_id where app_client_id = $1 order by created_at desc limit 1`,
      [tab.app.id],
    )
    .then(({ rows }) => rows[0]?.tries)

const ADDRESS_HEADING = 'Do you want to connect this app?'
const CODE_HEADING = 'Type the sign-in code, then press Allow or Deny'
const GONE_HEADING = 'This page no longer works'

describe('a sign-in', () => {
  test('goes from the address to the mailed code and the decision, and then back to the app', async () => {
    const tab = await Tab.open(system, {
      app: exampleAppAt('https://claude.example/cb', { name: 'Cl <b>aude' }),
    })
    expect([tab.page.status, tab.heading]).toEqual([200, ADDRESS_HEADING])
    expect(tab.page.text).toContain('<bdi>claude.example</bdi>')
    expect(tab.page.text).toContain('“Cl &lt;b&gt;aude”')
    expect(tab.page.text).toContain('The app gave us that name.')

    const code = await tab.requestCode()
    expect([tab.page.status, tab.heading]).toEqual([200, CODE_HEADING])
    expect(tab.page.text).toContain(tab.email)
    const [mail] = await system.mailServer.waitForMails(1, tab.email)
    expect(mail?.text).toContain('plainpath.example')
    expect(mail?.text).toContain('an app at claude[.]example')
    expect(mail?.text).toContain('Never type it into a chat')
    expect(mail?.text).not.toMatch(/:\/\/|\/claim|Cl </)
    expect(mail?.subject).not.toContain(code)

    const callbackUrl = await tab.allow(`${code.slice(0, 3)} ${code.slice(3)}`)
    expect(callbackUrl.origin + callbackUrl.pathname).toBe('https://claude.example/cb')
    expect(callbackUrl.searchParams.get('code')).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(callbackUrl.href).not.toContain(encodeURIComponent(tab.email))
    expect(await countVerifications(system, tab)).toBe(1)
    const findConfirmationMail = async () =>
      system.mailServer.received.find(
        ({ to, subject }) => to.includes(tab.email) && subject.startsWith('An app can now'),
      )
    await expect.poll(findConfirmationMail).toBeDefined()
    const text = (await findConfirmationMail())?.text ?? ''
    expect(text).toContain('It is an app at claude[.]example.')
    expect(findLinkSecret(text)).toMatch(/^[A-Za-z0-9_-]{43}$/)
    system.auth.confidential.add(findLinkSecret(text))
  })

  test('has pages that run no script, cannot be framed or stored, and have a title that reveals nothing', async () => {
    const tab = await Tab.open(system)
    await tab.requestCode()
    for (const { headers, text } of [tab.page, await tab.reload(), await tab.submit('code', { code: '1' })]) {
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      const csp = headers.get('content-security-policy')
      expect(csp).toContain("default-src 'none'")
      expect(csp).toContain("frame-ancestors 'none'")
      expect(csp).toContain("form-action 'self' https:;")
      expect(text).not.toContain('<script')
      expect(text).toMatch(/<title>(?:Sign in|Error: Sign in) – Plainpath<\/title>/)
    }
  })

  test.for([
    ['http://127.0.0.1:33418/', 'a program on this computer', 'http://127.0.0.1:33418'],
    // A source in a CSP cannot name an IPv6 address, so the policy allows the whole scheme.
    ['http://[::1]:3118/callback', 'a program on this computer', 'http:'],
    ['cursor://anysphere.cursor-mcp/oauth/callback', 'that opens “cursor:” links', 'cursor:'],
  ] as const)('warns that other programs may receive the result at %s', async ([uri, place, source]) => {
    const tab = await Tab.open(system, {
      app: exampleAppAt(uri, { id: 'https://vscode.example/client.json', source: 'document' }),
    })
    expect(tab.page.text).toContain(place)
    expect(tab.page.text).toContain('Any program there could.')
    expect(tab.page.text).toContain('It says that it is an app of <strong>vscode.example</strong>.')
    expect(tab.page.headers.get('content-security-policy')).toContain(`form-action 'self' https: ${source};`)
  })

  test('can be denied on either page, which grants nothing, erases the address and blocks no mailbox', async () => {
    for (const hasRequestedCode of [false, true]) {
      const tab = await Tab.open(system)
      if (hasRequestedCode) await tab.requestCode()
      const callbackUrl = await tab.followToApp(await tab.submit('deny'))
      expect(callbackUrl.searchParams.get('error')).toBe('access_denied')
      expect(callbackUrl.searchParams.get('code')).toBeNull()
      expect(await countVerifications(system, tab)).toBe(0)
      expect((await tab.reload()).status).toBe(410)
      const { rows: attempts } = await system.testbed.db.query(
        `select state, email_sealed, email_hash from claim_attempts join agents on agents.id = agent_id where app_client_id = $1`,
        [tab.app.id],
      )
      const closedAttempt = { state: 'superseded', email_sealed: null, email_hash: null }
      expect(attempts).toEqual(hasRequestedCode ? [closedAttempt] : [])
    }
    expect(await countRowsFrom(system, 'claim_blocks')).toBe(0)
  })

  test('can be started again from the app after it was denied', async () => {
    const tab = await Tab.open(system)
    await tab.submit('deny')
    const { callbackUrl } = await completeSignIn(system, { app: tab.app })
    expect(callbackUrl.searchParams.get('code')).not.toBeNull()
  })
})

describe('a code works only for one purpose, in one sign-in and in one browser:', () => {
  /** Requests that must not complete the sign-in of the tab, whose code is `code`. Each returns the status. */
  const invalidRequests: Record<string, (tab: Tab, code: string) => Promise<number>> = {
    'the code of another sign-in': async (tab, code) => {
      const otherTab = await Tab.open(system)
      const otherCode = await otherTab.requestCode()
      return (await tab.submit('code', { code: otherCode === code ? createWrongCode(code) : otherCode }))
        .status
    },
    'the code and the attempt of another sign-in': async (tab) => {
      const otherTab = await Tab.open(system)
      const code = await otherTab.requestCode()
      return (await tab.submit('code', { code, attempt: otherTab.readField('attempt') })).status
    },
    'the code in a browser without the cookie': async (tab, code) => {
      const form = { step: 'code', code, token: tab.readField('token'), attempt: tab.readField('attempt') }
      const response = await new Browser(system.auth.url).open(tab.path, {
        method: 'POST',
        headers: { 'sec-fetch-site': 'same-origin' },
        body: new URLSearchParams(form),
      })
      return response.status
    },
    'the code in a browser with the cookies of another sign-in': async (tab, code) => {
      const otherTab = await Tab.open(system)
      const cookies = [...otherTab.browser.cookies.values()]
        .map(({ name, value }) => `${name}=${value}`)
        .join('; ')
      const form = { step: 'code', code, token: tab.readField('token'), attempt: tab.readField('attempt') }
      const response = await new Browser(system.auth.url).open(tab.path, {
        method: 'POST',
        headers: { cookie: cookies, 'sec-fetch-site': 'same-origin' },
        body: new URLSearchParams(form),
      })
      return response.status
    },
    'the code of an agent’s verification of the same address': async (tab, code) => {
      const attempt = await beginVerification(asVerificationSystem(), { email: tab.email })
      const otherCode = await showCode(system.auth, attempt)
      return (await tab.submit('code', { code: otherCode === code ? createWrongCode(code) : otherCode }))
        .status
    },
    'an agent’s attempt with its code': async (tab) => {
      const attempt = await beginVerification(asVerificationSystem(), { email: tab.email })
      const code = await showCode(system.auth, attempt)
      return (await tab.submit('code', { code, attempt: attempt.id })).status
    },
    'a form without its token': async (tab, code) => (await tab.submit('code', { code, token: '' })).status,
    'a form with the token of another sign-in': async (tab, code) => {
      const otherTab = await Tab.open(system)
      return (await tab.submit('code', { code, token: otherTab.readField('token') })).status
    },
    'a form of another site': async (tab, code) =>
      (await tab.submit('code', { code }, { 'sec-fetch-site': 'cross-site' })).status,
    'a form from another origin of the same site': async (tab, code) =>
      (await tab.submit('code', { code }, { 'sec-fetch-site': 'same-site' })).status,
    'a form of another origin in a browser without Sec-Fetch-Site': async (tab, code) =>
      (await tab.submit('code', { code }, { origin: 'https://evil.example' })).status,
    'the code in the address of a GET': async (tab, code) =>
      (await tab.browser.open(`${tab.path}?step=code&code=${code}&attempt=${tab.readField('attempt')}`))
        .status,
    'a wrong code': async (tab, code) => (await tab.submit('code', { code: createWrongCode(code) })).status,
    'no code': async (tab) => (await tab.submit('code')).status,
    'the step after the code, without the code': async (tab) => (await tab.submit('continue')).status,
    JSON: async (tab, code) => {
      const response = await tab.browser.open(tab.path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
        body: JSON.stringify({ step: 'code', code, token: tab.readField('token') }),
      })
      return response.status
    },
  }
  /** The statuses of the responses to invalid requests. All others get 400. */
  const EXPECTED_STATUSES: Record<string, number> = {
    'the code in a browser without the cookie': 410,
    'the code in a browser with the cookies of another sign-in': 410,
    'a form without its token': 403,
    'a form with the token of another sign-in': 403,
    'a form of another site': 403,
    'a form from another origin of the same site': 403,
    'a form of another origin in a browser without Sec-Fetch-Site': 403,
    'the code in the address of a GET': 200,
    'the step after the code, without the code': 200,
    JSON: 415,
  }

  /** Lets the helpers for the verification of agents use this system, which has all that they need. */
  const asVerificationSystem = () => system as unknown as VerificationSystem

  test.for(Object.keys(invalidRequests))('%s grants nothing, and the right code then works', async (name) => {
    const tab = await Tab.open(system)
    const code = await tab.requestCode()
    expect(await invalidRequests[name]?.(tab, code)).toBe(EXPECTED_STATUSES[name] ?? 400)
    expect(await countVerifications(system, tab)).toBe(0)
    await tab.reload()
    expect((await tab.allow(code)).searchParams.get('code')).not.toBeNull()
    expect(await countVerifications(system, tab)).toBe(1)
  })

  test('an agent cannot use the code of a sign-in', async () => {
    const tab = await Tab.open(system)
    const code = await tab.requestCode()
    const agent = await register(system.auth)
    const response = await completeVerification(system.auth, agent, {
      otp: code,
      claim_attempt_id: tab.readField('attempt'),
    })
    expect([response.status, JSON.parse(response.text).code]).toEqual([400, 'claim-unknown'])
    const attempt = await beginVerification(asVerificationSystem(), { agent, email: tab.email })
    await showCode(system.auth, attempt)
    const ownAttemptResponse = await completeVerification(system.auth, agent, { otp: code })
    expect([ownAttemptResponse.status, JSON.parse(ownAttemptResponse.text).code]).toEqual([
      400,
      'otp-invalid',
    ])
    expect((await tab.allow(code)).searchParams.get('code')).not.toBeNull()
  })

  test('at most five tries are counted, even in simultaneous requests, and then a new code is needed', async () => {
    const tab = await Tab.open(system)
    const code = await tab.requestCode()
    const otherCode = createWrongCode(code)
    expect((await tab.submit('code', { code: 'abc' })).text).toContain('Type the six digits')
    expect(await readTries(tab)).toBe(0)
    expect((await tab.submit('code', { code: otherCode })).text).toContain('You have 4 tries left.')
    const attempt = tab.readField('attempt')
    const token = tab.readField('token')
    const tries = Array.from({ length: 7 }, () =>
      tab.browser.open(tab.path, {
        method: 'POST',
        headers: { 'sec-fetch-site': 'same-origin' },
        body: new URLSearchParams({ step: 'code', code: otherCode, attempt, token }),
      }),
    )
    await Promise.all(tries)
    expect(await readTries(tab)).toBe(5)
    await tab.submit('code', { code, attempt, token })
    expect(await countVerifications(system, tab)).toBe(0)
    await tab.reload()
    expect(tab.page.text).toContain('Too many wrong codes.')
    expect((await tab.allow(await tab.requestCode())).searchParams.get('code')).not.toBeNull()
  })

  test('a code is refused after ten minutes', async () => {
    const tab = await Tab.open(system)
    const code = await tab.requestCode()
    const issuedAt = system.clock.now
    system.clock.now = new Date(issuedAt.getTime() + RULES.verificationCodeMs)
    // 200, because the page offers to send another code.
    expect((await tab.submit('code', { code })).status).toBe(200)
    expect(tab.page.text).toContain('The last code no longer works.')
    expect(await countVerifications(system, tab)).toBe(0)
    system.clock.now = issuedAt
    await tab.reload()
    expect((await tab.allow(code)).searchParams.get('code')).not.toBeNull()
  })

  test('a newer code replaces the earlier one, which is refused without counting as a try', async () => {
    const tab = await Tab.open(system)
    const firstCode = await tab.requestCode()
    const oldTab = await tab.openAnother()
    system.clock.now = new Date(system.clock.now.getTime() + MINUTE_MS)
    await tab.submit('resend')
    const [, secondCode = ''] = await tab.waitForCodes(2)
    const refusal = await oldTab.submit('code', { code: firstCode })
    expect([refusal.status, refusal.text.includes('You asked for a newer code.')]).toEqual([400, true])
    expect(await readTries(tab)).toBe(0)
    expect((await tab.allow(secondCode)).searchParams.get('code')).not.toBeNull()
  })
})

describe('a sign-in with two tabs or the back button', () => {
  test('shows its current state in each tab after a request there', async () => {
    const tab = await Tab.open(system)
    const otherTab = await tab.openAnother()
    const code = await tab.requestCode()
    expect(otherTab.heading).toBe(ADDRESS_HEADING)
    await otherTab.reload()
    expect(otherTab.heading).toBe(CODE_HEADING)
    expect((await otherTab.allow(code)).searchParams.get('code')).not.toBeNull()
    const repeatedResponse = await tab.submit('code', { code })
    expect([repeatedResponse.status, tab.heading]).toEqual([410, GONE_HEADING])
    expect((await tab.reload()).status).toBe(410)
    expect(tab.page.text).toContain('If you have just allowed or denied an app, you are done.')
    expect(await countVerifications(system, tab)).toBe(1)
  })

  test('sends no second code when the page is reloaded, the address is submitted again, or another code is requested within a minute', async () => {
    const tab = await Tab.open(system)
    const oldTab = await tab.openAnother()
    await tab.requestCode()
    await tab.reload()
    await oldTab.submit('email', { email: tab.email })
    expect(oldTab.heading).toBe(CODE_HEADING)
    await tab.submit('resend')
    expect(tab.page.text).toContain('We sent you a code less than a minute ago.')
    expect(
      await countRowsFrom(
        system,
        'sign_ins join agents on agents.id = agent_id where app_client_id = $1 and codes = 1',
        [tab.app.id],
      ),
    ).toBe(1)
  })

  test('accepts another address, after which only the code for that address works', async () => {
    const tab = await Tab.open(system)
    const firstCode = await tab.requestCode()
    expect((await tab.submit('address')).status).toBe(200)
    expect(tab.heading).toBe(ADDRESS_HEADING)
    const email = createAddress('canary-other')
    system.auth.confidential.add(email)
    const secondCode = await tab.requestCode(email)
    if (firstCode !== secondCode) expect((await tab.submit('code', { code: firstCode })).status).toBe(400)
    expect((await tab.allow(secondCode)).searchParams.get('code')).not.toBeNull()
  })

  test('can be continued or denied if the response to the right code failed; denying ends the verification', async () => {
    for (const step of ['continue', 'deny'] as const) {
      const tab = await Tab.open(system)
      const code = await tab.requestCode()
      // The request with the code finds the app once, but not a second time, so that its response fails.
      let lookups = 0
      const { app } = tab
      const originalGet = system.apps.get.bind(system.apps)
      system.apps.get = (id) => {
        if (id !== app.id) return originalGet(id)
        lookups += 1
        return lookups === 1 ? app : undefined
      }
      expect((await tab.submit('code', { code })).status).toBe(404)
      system.apps.get = originalGet
      await tab.reload()
      expect(tab.heading).toBe('You have allowed this app')
      const callbackUrl = await tab.followToApp(await tab.submit(step))
      expect(callbackUrl.searchParams.has('code')).toBe(step === 'continue')
      expect(
        await countRowsFrom(
          system,
          'claims join agents on agents.id = agent_id where app_client_id = $1 and ended_at is null',
          [app.id],
        ),
      ).toBe(step === 'continue' ? 1 : 0)
    }
  })

  test('grants once when two tabs submit the code simultaneously', async () => {
    const tab = await Tab.open(system)
    const code = await tab.requestCode()
    const otherTab = await tab.openAnother()
    const statuses = (await Promise.all([tab, otherTab].map((each) => each.submit('code', { code })))).map(
      ({ status }) => status,
    )
    expect(statuses).toContain(303)
    expect(await countVerifications(system, tab)).toBe(1)
  })
})
