import { MINUTE_MS, RULES } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { register } from './agent-client.ts'
import { Browser } from './browser.ts'
import {
  begin,
  type ClaimsUnderTest,
  complete,
  newAddress,
  secretIn,
  showCode,
  wrongCode,
} from './claim-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import {
  claimsOf,
  countRows,
  hostApp,
  type SignInsUnderTest,
  signedIn,
  startSignIns,
  Tab,
} from './sign-in-client.ts'

let under: SignInsUnderTest
beforeAll(async () => {
  under = await startSignIns()
})
afterAll(async () => {
  await expectNothingInClear(under.auth)
  await under[Symbol.asyncDispose]()
})

const triesOf = (tab: Tab) =>
  under.stores.db
    .query<{ tries: number }>(
      `select tries from claim_attempts join agents on agents.id = agent_id where app_client_id = $1 order by created_at desc limit 1`,
      [tab.app.id],
    )
    .then(({ rows }) => rows[0]?.tries)

const ASKS = 'Do you want to connect this app?'
const TYPE = 'Type the sign-in code, then press Allow or Deny'
const GONE = 'This page no longer works'

describe('a sign-in', () => {
  test('leads from the address, a code in a mail and the decision back to the app', async () => {
    const tab = await Tab.open(under, { app: hostApp('https://claude.example/cb', { name: 'Cl <b>aude' }) })
    expect([tab.shown.status, tab.heading]).toEqual([200, ASKS])
    expect(tab.shown.text).toContain('<bdi>claude.example</bdi>')
    expect(tab.shown.text).toContain('“Cl &lt;b&gt;aude”')
    expect(tab.shown.text).toContain('The app gave us that name.')

    const code = await tab.askForCode()
    expect([tab.shown.status, tab.heading]).toEqual([200, TYPE])
    expect(tab.shown.text).toContain(tab.email)
    const [mail] = await under.mail.mails(1, tab.email)
    expect(mail?.text).toContain('plainpath.example')
    expect(mail?.text).toContain('an app at claude[.]example')
    expect(mail?.text).toContain('Never type it into a chat')
    expect(mail?.text).not.toMatch(/:\/\/|\/claim|Cl </)
    expect(mail?.subject).not.toContain(code)

    const back = await tab.allow(`${code.slice(0, 3)} ${code.slice(3)}`)
    expect(back.origin + back.pathname).toBe('https://claude.example/cb')
    expect(back.searchParams.get('code')).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(back.href).not.toContain(encodeURIComponent(tab.email))
    expect(await claimsOf(under, tab)).toBe(1)
    const confirmed = async () =>
      under.mail.received.find(
        ({ to, subject }) => to.includes(tab.email) && subject.startsWith('An app can now'),
      )
    await expect.poll(confirmed).toBeDefined()
    const text = (await confirmed())?.text ?? ''
    expect(text).toContain('It is an app at claude[.]example.')
    expect(secretIn(text)).toMatch(/^[A-Za-z0-9_-]{43}$/)
    under.auth.confidential.add(secretIn(text))
  })

  test('has pages that nobody can frame or store, without scripts, with a title that says nothing', async () => {
    const tab = await Tab.open(under)
    await tab.askForCode()
    for (const { headers, text } of [tab.shown, await tab.load(), await tab.press('code', { code: '1' })]) {
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      const csp = headers.get('content-security-policy')
      expect(csp).toContain("default-src 'none'")
      expect(csp).toContain("frame-ancestors 'none'")
      expect(csp).toContain("form-action 'self' https:;")
      expect(text).not.toContain('<script')
      expect(text).toMatch(/<title>(?:Sign in|Mistake: sign in) – Plainpath<\/title>/)
    }
  })

  test.for([
    ['http://127.0.0.1:33418/', 'a program on this computer', 'http://127.0.0.1:33418'],
    ['http://[::1]:3118/callback', 'a program on this computer', 'http:'],
    ['cursor://anysphere.cursor-mcp/oauth/callback', 'that opens “cursor:” links', 'cursor:'],
  ] as const)('warns of other programs where the result goes to %s', async ([uri, place, source]) => {
    const tab = await Tab.open(under, {
      app: hostApp(uri, { id: 'https://vscode.example/client.json', source: 'document' }),
    })
    expect(tab.shown.text).toContain(place)
    expect(tab.shown.text).toContain('Any program there could.')
    expect(tab.shown.text).toContain('It says that it is an app of <strong>vscode.example</strong>.')
    expect(tab.shown.headers.get('content-security-policy')).toContain(`form-action 'self' https: ${source};`)
  })

  test('can be denied on either page, which grants nothing, sends no further mail and blocks nobody', async () => {
    for (const goOn of [false, true]) {
      const tab = await Tab.open(under)
      if (goOn) await tab.askForCode()
      const back = await tab.follow(await tab.press('deny'))
      expect(back.searchParams.get('error')).toBe('access_denied')
      expect(back.searchParams.get('code')).toBeNull()
      expect(await claimsOf(under, tab)).toBe(0)
      expect((await tab.load()).status).toBe(410)
    }
    expect(await countRows(under, 'claim_blocks')).toBe(0)
    expect(
      await countRows(
        under,
        `claim_attempts where purpose = 'sign-in' and state = 'superseded' and email_sealed is not null`,
      ),
    ).toBe(0)
  })

  test('can be started again from the app after it was denied or timed out', async () => {
    const tab = await Tab.open(under)
    await tab.press('deny')
    const { back } = await signedIn(under, { app: tab.app })
    expect(back.searchParams.get('code')).not.toBeNull()
  })
})

describe('a code works for one purpose, in one sign-in, in one browser', () => {
  /** Each returns the tab whose sign-in must not be allowed, and what it showed. */
  const hostile: Record<string, (tab: Tab, code: string) => Promise<number>> = {
    'the code of another sign-in': async (tab, code) => {
      const other = await Tab.open(under)
      const theirs = await other.askForCode()
      return (await tab.press('code', { code: theirs === code ? wrongCode(code) : theirs })).status
    },
    'the code with the attempt of another sign-in': async (tab) => {
      const other = await Tab.open(under)
      const code = await other.askForCode()
      return (await tab.press('code', { code, attempt: other.field('attempt') })).status
    },
    'the code in a browser without the cookie': async (tab, code) => {
      const form = { step: 'code', code, token: tab.field('token'), attempt: tab.field('attempt') }
      const answer = await new Browser(under.auth.url).open(tab.path, {
        method: 'POST',
        headers: { 'sec-fetch-site': 'same-origin' },
        body: new URLSearchParams(form),
      })
      return answer.status
    },
    'the code in a browser with the cookies of its own sign-in': async (tab, code) => {
      const other = await Tab.open(under)
      const cookies = [...other.browser.cookies.values()]
        .map(({ name, value }) => `${name}=${value}`)
        .join('; ')
      const form = { step: 'code', code, token: tab.field('token'), attempt: tab.field('attempt') }
      const answer = await new Browser(under.auth.url).open(tab.path, {
        method: 'POST',
        headers: { cookie: cookies, 'sec-fetch-site': 'same-origin' },
        body: new URLSearchParams(form),
      })
      return answer.status
    },
    'the code of an agent’s verification of the same address': async (tab, code) => {
      const attempt = await begin(claims(), { email: tab.email })
      const theirs = await showCode(under.auth, attempt)
      return (await tab.press('code', { code: theirs === code ? wrongCode(code) : theirs })).status
    },
    'an agent’s attempt with its code': async (tab) => {
      const attempt = await begin(claims(), { email: tab.email })
      const code = await showCode(under.auth, attempt)
      return (await tab.press('code', { code, attempt: attempt.id })).status
    },
    'a form without its token': async (tab, code) => (await tab.press('code', { code, token: '' })).status,
    'a form with the token of another sign-in': async (tab, code) => {
      const other = await Tab.open(under)
      return (await tab.press('code', { code, token: other.field('token') })).status
    },
    'a form of another site': async (tab, code) =>
      (await tab.press('code', { code }, { 'sec-fetch-site': 'cross-site' })).status,
    'a form of another origin of the site': async (tab, code) =>
      (await tab.press('code', { code }, { 'sec-fetch-site': 'same-site' })).status,
    'a form of another origin in a browser without Sec-Fetch-Site': async (tab, code) =>
      (await tab.press('code', { code }, { origin: 'https://evil.example' })).status,
    'the code in the address of a GET': async (tab, code) =>
      (await tab.browser.open(`${tab.path}?step=code&code=${code}&attempt=${tab.field('attempt')}`)).status,
    'a wrong code': async (tab, code) => (await tab.press('code', { code: wrongCode(code) })).status,
    'no code': async (tab) => (await tab.press('code')).status,
    'the step after the code, without the code': async (tab) => (await tab.press('continue')).status,
    JSON: async (tab, code) => {
      const answer = await tab.browser.open(tab.path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
        body: JSON.stringify({ step: 'code', code, token: tab.field('token') }),
      })
      return answer.status
    },
  }
  const STATUSES: Record<string, number> = {
    'the code in a browser without the cookie': 410,
    'the code in a browser with the cookies of its own sign-in': 410,
    'a form without its token': 403,
    'a form with the token of another sign-in': 403,
    'a form of another site': 403,
    'a form of another origin of the site': 403,
    'a form of another origin in a browser without Sec-Fetch-Site': 403,
    'the code in the address of a GET': 200,
    'the step after the code, without the code': 200,
    JSON: 415,
  }

  const claims = () => under as unknown as ClaimsUnderTest

  test.for(Object.keys(hostile))('%s gives nothing, and the right code then works', async (name) => {
    const tab = await Tab.open(under)
    const code = await tab.askForCode()
    expect(await hostile[name]?.(tab, code)).toBe(STATUSES[name] ?? 400)
    expect(await claimsOf(under, tab)).toBe(0)
    await tab.load()
    expect((await tab.allow(code)).searchParams.get('code')).not.toBeNull()
    expect(await claimsOf(under, tab)).toBe(1)
  })

  test('agents cannot complete a sign-in', async () => {
    const tab = await Tab.open(under)
    const code = await tab.askForCode()
    const agent = await register(under.auth)
    const answer = await complete(under.auth, agent, { otp: code, claim_attempt_id: tab.field('attempt') })
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([400, 'claim-unknown'])
    const attempt = await begin(claims(), { agent, email: tab.email })
    await showCode(under.auth, attempt)
    const wrong = await complete(under.auth, agent, { otp: code })
    expect([wrong.status, JSON.parse(wrong.text).code]).toEqual([400, 'otp-invalid'])
    expect((await tab.allow(code)).searchParams.get('code')).not.toBeNull()
  })

  test('five tries are counted before the comparison, also at once; then a new code is needed', async () => {
    const tab = await Tab.open(under)
    const code = await tab.askForCode()
    const wrong = wrongCode(code)
    expect((await tab.press('code', { code: 'abc' })).text).toContain('Type the six digits')
    expect(await triesOf(tab)).toBe(0)
    expect((await tab.press('code', { code: wrong })).text).toContain('You have 4 tries left.')
    const attempt = tab.field('attempt')
    const token = tab.field('token')
    const tries = Array.from({ length: 7 }, () =>
      tab.browser.open(tab.path, {
        method: 'POST',
        headers: { 'sec-fetch-site': 'same-origin' },
        body: new URLSearchParams({ step: 'code', code: wrong, attempt, token }),
      }),
    )
    await Promise.all(tries)
    expect(await triesOf(tab)).toBe(5)
    await tab.press('code', { code, attempt, token })
    expect(await claimsOf(under, tab)).toBe(0)
    await tab.load()
    expect(tab.shown.text).toContain('Too many wrong codes.')
    expect((await tab.allow(await tab.askForCode())).searchParams.get('code')).not.toBeNull()
  })

  test('a code lasts ten minutes', async () => {
    const tab = await Tab.open(under)
    const code = await tab.askForCode()
    const before = under.clock.now
    under.clock.now = new Date(before.getTime() + RULES.claimCodeMs)
    expect((await tab.press('code', { code })).status).toBe(200)
    expect(tab.shown.text).toContain('The last code no longer works.')
    expect(await claimsOf(under, tab)).toBe(0)
    under.clock.now = before
    await tab.load()
    expect((await tab.allow(code)).searchParams.get('code')).not.toBeNull()
  })

  test('a newer code replaces the earlier one, which then does not count as a try', async () => {
    const tab = await Tab.open(under)
    const first = await tab.askForCode()
    const old = await tab.another()
    under.clock.now = new Date(under.clock.now.getTime() + MINUTE_MS)
    await tab.press('resend')
    const [, second = ''] = await tab.codes(2)
    const stale = await old.press('code', { code: first })
    expect([stale.status, stale.text.includes('You asked for a newer code.')]).toEqual([400, true])
    expect(await triesOf(tab)).toBe(0)
    expect((await tab.allow(second)).searchParams.get('code')).not.toBeNull()
  })
})

describe('a sign-in with two tabs or the back button', () => {
  test('shows its current state in every tab', async () => {
    const tab = await Tab.open(under)
    const other = await tab.another()
    const code = await tab.askForCode()
    expect(other.heading).toBe(ASKS)
    await other.load()
    expect(other.heading).toBe(TYPE)
    expect((await other.allow(code)).searchParams.get('code')).not.toBeNull()
    const late = await tab.press('code', { code })
    expect([late.status, tab.heading]).toEqual([410, GONE])
    expect((await tab.load()).status).toBe(410)
    expect(tab.shown.text).toContain('If you have just allowed or denied an app, you are done.')
    expect(await claimsOf(under, tab)).toBe(1)
  })

  test('sends no second code when the page of the code is reloaded or the button clicked twice', async () => {
    const tab = await Tab.open(under)
    const stale = await tab.another()
    await tab.askForCode()
    await tab.load()
    await stale.press('email', { email: tab.email })
    expect(stale.heading).toBe(TYPE)
    expect(
      await countRows(
        under,
        'sign_ins join agents on agents.id = agent_id where app_client_id = $1 and codes = 1',
        [tab.app.id],
      ),
    ).toBe(1)
    await tab.press('resend')
    expect(tab.shown.text).toContain('We sent you a code less than a minute ago.')
  })

  test('accepts another address, after which only its code works', async () => {
    const tab = await Tab.open(under)
    const first = await tab.askForCode()
    expect((await tab.press('address')).status).toBe(200)
    expect(tab.heading).toBe(ASKS)
    const email = newAddress('canary-other')
    under.auth.confidential.add(email)
    const second = await tab.askForCode(email)
    if (first !== second) expect((await tab.press('code', { code: first })).status).toBe(400)
    expect((await tab.allow(second)).searchParams.get('code')).not.toBeNull()
  })

  test('can be continued or denied if the response to the right code failed; denying ends the claim', async () => {
    for (const step of ['continue', 'deny'] as const) {
      const tab = await Tab.open(under)
      const code = await tab.askForCode()
      // The request that allows finds the interaction once; then the app is gone.
      let finds = 0
      const { app } = tab
      under.apps.delete(app.id)
      const get = under.apps.get.bind(under.apps)
      under.apps.get = (id) => (id === app.id ? (finds++ === 0 ? app : undefined) : get(id))
      expect((await tab.press('code', { code })).status).toBe(404)
      under.apps.get = get
      under.apps.set(app.id, app)
      await tab.load()
      expect(tab.heading).toBe('You have allowed this app')
      const back = await tab.follow(await tab.press(step))
      expect(back.searchParams.has('code')).toBe(step === 'continue')
      expect(
        await countRows(
          under,
          'claims join agents on agents.id = agent_id where app_client_id = $1 and ended_at is null',
          [app.id],
        ),
      ).toBe(step === 'continue' ? 1 : 0)
    }
  })

  test('grants once when Allow is pressed twice at the same time', async () => {
    const tab = await Tab.open(under)
    const code = await tab.askForCode()
    const other = await tab.another()
    const statuses = (await Promise.all([tab, other].map((each) => each.press('code', { code })))).map(
      ({ status }) => status,
    )
    expect(statuses).toContain(303)
    expect(await claimsOf(under, tab)).toBe(1)
  })
})
