import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  begin,
  type ClaimsUnderTest,
  newAddress,
  openClaimPage,
  pressButton,
  sayNo,
  secretIn,
  wrongCode,
} from './claim-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import {
  claimsOf,
  codesTo,
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

describe('a sign-in reveals nothing about an address:', () => {
  test('the response is the same for each, also at the wrong code and with the right code of a spent mailbox', async () => {
    const claims = under as unknown as ClaimsUnderTest
    const [fresh, confirmed, blocked, spent] = [
      newAddress(),
      newAddress(),
      newAddress(),
      newAddress(),
    ] as const
    for (const email of [fresh, confirmed, blocked, spent]) under.auth.confidential.add(email)
    await signedIn(under, { email: confirmed })
    await sayNo(under.auth, await begin(claims, { email: blocked }))
    for (let used = 0; used < 2; used++) {
      const tab = await Tab.open(under)
      const code = await tab.askForCode(spent)
      for (let n = 0; n < 5; n++) await tab.press('code', { code: wrongCode(code) })
    }
    const responses = []
    for (const email of [fresh, confirmed, blocked, spent]) {
      const tab = await Tab.open(under)
      const mailed = await tab.press('email', { email })
      await expect.poll(() => codesTo(under, email).length).toBeGreaterThan(0)
      const page = tab.shown.text
      const wrong = await tab.press('code', { code: wrongCode(codesTo(under, email).at(-1) ?? '') })
      const changing = [
        email,
        tab.field('token'),
        tab.field('attempt'),
        tab.path,
        tab.path.split('/').at(-1) ?? '',
      ]
      const plain = (text: string) => changing.reduce((rest, each) => rest.replaceAll(each, '…'), text)
      const headers = [...mailed.headers].filter(([name]) => !/date|request-id|ratelimit|cookie/.test(name))
      responses.push([
        mailed.status,
        plain(JSON.stringify(headers)),
        plain(mailed.text),
        plain(page),
        wrong.status,
        plain(wrong.text),
      ])
    }
    for (const each of responses) expect(each).toEqual(responses[0])
    expect(responses[0]?.[0]).toBe(303)
  })

  test('a mailbox with ten wrong codes within a day accepts none, and says no more than "wrong"', async () => {
    const email = newAddress()
    under.auth.confidential.add(email)
    for (let used = 0; used < 2; used++) {
      const tab = await Tab.open(under)
      const code = await tab.askForCode(email)
      for (let n = 0; n < 5; n++) await tab.press('code', { code: wrongCode(code) })
    }
    const tab = await Tab.open(under)
    const code = await tab.askForCode(email)
    const answer = await tab.press('code', { code })
    expect([answer.status, answer.text.includes('You have 4 tries left.')]).toEqual([400, true])
    expect(await claimsOf(under, tab)).toBe(0)
    // A day later. An interaction does not last that long, so the clock stays.
    await under.stores.db.query(`update claim_tries set tried_at = tried_at - interval '1 day'`)
    const later = await signedIn(under, { email })
    expect(later.registrationId).toMatch(/^clm_/)
  })
})

describe('the mails of sign-ins are limited to', () => {
  test('three codes for a sign-in, over all addresses', async () => {
    const tab = await Tab.open(under)
    for (let n = 0; n < 3; n++) {
      if (n > 0) await tab.press('address')
      const email = newAddress('canary-many')
      under.auth.confidential.add(email)
      await tab.askForCode(email)
    }
    expect(tab.shown.text).toContain('We have sent three codes, and cannot send more')
    const stored = await countRows(under, 'mails')
    const answer = await tab.press('email', { email: tab.email })
    expect([answer.status, tab.heading]).toEqual([410, 'We cannot send more codes'])
    expect(tab.shown.text).toContain('type the last code')
    expect(await countRows(under, 'mails')).toBe(stored)
    expect((await tab.follow(await tab.press('deny'))).searchParams.get('error')).toBe('access_denied')
  })

  test('ten codes in ten minutes for an address of the network', async () => {
    await using auth = await under.another({ AUTH_LIMITS_FACTOR: '1' })
    const email = newAddress()
    const statuses: number[] = []
    for (let n = 0; n < 11; n++) {
      const tab = await Tab.open(under, { auth })
      statuses.push((await tab.press('email', { email })).status)
    }
    expect(statuses).toEqual([...Array<number>(10).fill(303), 429])
  })

  test('five mails a day to a mailbox, and the page is the same for the sixth', async () => {
    await using limited = await startSignIns({ AUTH_LIMITS_FACTOR: '1' })
    const email = newAddress()
    limited.auth.confidential.add(email)
    const headings: (string | undefined)[] = []
    for (let n = 0; n < 6; n++) {
      const tab = await Tab.open(limited)
      expect((await tab.press('email', { email })).status).toBe(303)
      headings.push(tab.heading)
    }
    expect(headings).toEqual(Array(6).fill('Type the sign-in code, then press Allow or Deny'))
    const inState = (state: string) => countRows(limited, 'mails where state = $1', [state])
    await expect.poll(() => inState('dropped')).toBe(1)
    await expect.poll(() => codesTo(limited, email).length).toBe(5)
    await expect.poll(() => inState('queued')).toBe(0)
  })

  test.for([
    ['', 'Type your <span class="form-name">e-mail</span> address'],
    [
      'nobody',
      'This is not an <span class="form-name">e-mail</span> address. Type one such as ana@example.org.',
    ],
    [
      'a@b@',
      'This is not an <span class="form-name">e-mail</span> address. Type one such as ana@example.org.',
    ],
  ] as const)(
    '"%s" is no address: nothing is mailed, and the page says so beside the field',
    async ([email, mistake]) => {
      const tab = await Tab.open(under)
      const answer = await tab.press('email', { email })
      expect(answer.status).toBe(400)
      expect(answer.text).toContain(mistake)
      expect(answer.text).toContain('aria-invalid="true"')
      expect(await countRows(under, 'agents where app_client_id = $1', [tab.app.id])).toBe(0)
      expect((await tab.allow(await tab.askForCode())).searchParams.get('code')).not.toBeNull()
    },
  )
})

describe('a link in any mail', () => {
  const endLinkTo = async (email: string, nth: number) => {
    const found = () =>
      under.mail.received.filter(
        ({ to, subject }) => to.includes(email) && subject.includes('can now send us'),
      )
    await expect.poll(() => found().length).toBeGreaterThan(nth)
    const secret = secretIn(found()[nth]?.text ?? '')
    under.auth.confidential.add(secret)
    return secret
  }
  const liveOf = (email: string) =>
    countRows(under, 'claims where ended_at is null and id = any($1)', [ids.get(email) ?? []])
  const ids = new Map<string, string[]>()
  async function lend(email: string, hosts: readonly string[]) {
    const registrationIds: string[] = []
    for (const host of hosts) {
      const app = hostApp(`https://${host}/cb`)
      registrationIds.push((await signedIn(under, { app, email })).registrationId)
    }
    ids.set(email, registrationIds)
    return registrationIds
  }

  test('lists all access that the person has given, ends one, and leads to the others', async () => {
    const email = newAddress()
    const stranger = await signedIn(under, { app: hostApp('https://stranger.example/cb') })
    await lend(email, ['one.example', 'two.example'])
    const secret = await endLinkTo(email, 0)
    const list = await openClaimPage(under.auth, { end: secret })
    expect(list.status).toBe(200)
    expect(list.text).toContain('<h1>Who can send us messages for you</h1>')
    expect(list.text).toContain('An app at one.example')
    expect(list.text).toContain('An app at two.example')
    expect(list.text).not.toContain('stranger.example')
    const second = /aria-describedby="access-1"/.exec(list.text)
    expect(second).not.toBeNull()
    const ended = await pressButton(under.auth, { end: secret })
    expect(ended.text).toContain('See who still has access')
    expect(await liveOf(email)).toBe(1)
    const left = /name="end" type="hidden" value="([^"]+)"/.exec(ended.text)?.[1] ?? ''
    const last = await openClaimPage(under.auth, { end: left })
    expect(last.text).toContain('Do you want to end this app’s access?')
    expect((await pressButton(under.auth, { end: left })).text).not.toContain('See who still')
    expect(await liveOf(email)).toBe(0)
    expect((await openClaimPage(under.auth, { end: secret })).status).toBe(410)
    expect(
      await countRows(under, 'claims where id = $1 and ended_at is null', [stranger.registrationId]),
    ).toBe(1)
  })

  test('ends all at once; each is confirmed by a mail, and no token works', async () => {
    const email = newAddress()
    await lend(email, ['one.example', 'two.example', 'three.example'])
    const ended = await pressButton(under.auth, { end: await endLinkTo(email, 1), all: 'yes' })
    expect(ended.status).toBe(200)
    expect(await liveOf(email)).toBe(0)
    const endMails = () =>
      under.mail.received.filter(
        ({ to, subject }) =>
          to.includes(email) && subject === 'An app can no longer send us messages for you',
      )
    await expect.poll(() => endMails().length).toBe(3)
    expect(endMails()[0]?.text).toContain("You ended an app's access to Plainpath.")
  })
})
