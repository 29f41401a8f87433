import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { register } from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import {
  completeSignIn,
  countRowsFrom,
  countVerifications,
  exampleAppAt,
  FROM_PAGE,
  findMailedCodes,
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
  openClaimPage,
  pressButton,
  requestVerification,
  sayNo,
  showCode,
} from './verification-client.ts'

let system: SignInSystem
beforeAll(async () => {
  system = await startSignInSystem()
})
afterAll(async () => {
  await expectNoConfidentialValues(system.auth)
  await system[Symbol.asyncDispose]()
})

describe('a sign-in reveals nothing about an address:', () => {
  test('the responses to an address and to a wrong code are the same for new, verified, blocked and locked mailboxes', async () => {
    const newEmail = createAddress()
    const verifiedEmail = createAddress()
    const blockedEmail = createAddress()
    const lockedEmail = createAddress()
    const emails = [newEmail, verifiedEmail, blockedEmail, lockedEmail]
    for (const email of emails) system.auth.confidential.add(email)
    await completeSignIn(system, { email: verifiedEmail })
    await sayNo(system.auth, await beginVerification(system, { email: blockedEmail }))
    // Ten wrong codes lock a mailbox for a day. Each attempt allows five tries.
    for (let attempts = 0; attempts < 2; attempts++) {
      const tab = await Tab.open(system)
      const code = await tab.requestCode(lockedEmail)
      for (let n = 0; n < 5; n++) await tab.submit('code', { code: createWrongCode(code) })
    }
    const responses = []
    for (const email of emails) {
      const tab = await Tab.open(system)
      const emailResponse = await tab.submit('email', { email })
      await expect.poll(() => findMailedCodes(system, email).length).toBeGreaterThan(0)
      const page = tab.page.text
      const wrongCodeResponse = await tab.submit('code', {
        code: createWrongCode(findMailedCodes(system, email).at(-1) ?? ''),
      })
      const variableTexts = [
        email,
        tab.readField('token'),
        tab.readField('attempt'),
        tab.path,
        tab.path.split('/').at(-1) ?? '',
      ]
      const maskVariableTexts = (text: string) => {
        let maskedText = text
        for (const variableText of variableTexts) maskedText = maskedText.replaceAll(variableText, '…')
        return maskedText
      }
      const headers = [...emailResponse.headers].filter(
        ([name]) => !/date|request-id|ratelimit|cookie/.test(name),
      )
      responses.push([
        emailResponse.status,
        maskVariableTexts(JSON.stringify(headers)),
        maskVariableTexts(emailResponse.text),
        maskVariableTexts(page),
        wrongCodeResponse.status,
        maskVariableTexts(wrongCodeResponse.text),
      ])
    }
    for (const response of responses) expect(response).toEqual(responses[0])
    expect(responses[0]?.[0]).toBe(303)
  })

  test('the right code is refused like a wrong one after ten wrong codes within a day, until a day later', async () => {
    const email = createAddress()
    system.auth.confidential.add(email)
    for (let attempts = 0; attempts < 2; attempts++) {
      const tab = await Tab.open(system)
      const code = await tab.requestCode(email)
      for (let n = 0; n < 5; n++) await tab.submit('code', { code: createWrongCode(code) })
    }
    const tab = await Tab.open(system)
    const code = await tab.requestCode(email)
    const response = await tab.submit('code', { code })
    expect([response.status, response.text.includes('You have 4 tries left.')]).toEqual([400, true])
    expect(await countVerifications(system, tab)).toBe(0)
    // Moves the tries a day into the past, rather than the clock into the future.
    await system.testbed.db.query(`update claim_tries set tried_at = tried_at - interval '1 day'`)
    const laterSignIn = await completeSignIn(system, { email })
    expect(laterSignIn.verificationId).toMatch(/^clm_/)
  })
})

describe('wrong codes for a mailbox are counted separately for sign-ins and for agents:', () => {
  const enterWrongCodesAtSignIns = async (email: string) => {
    for (let attempts = 0; attempts < 2; attempts++) {
      const tab = await Tab.open(system)
      const code = await tab.requestCode(email)
      for (let n = 0; n < 5; n++)
        expect((await tab.submit('code', { code: createWrongCode(code) })).status).not.toBe(303)
    }
  }
  const enterWrongCodesAsAgents = async (email: string) => {
    for (let attempts = 0; attempts < 2; attempts++) {
      const attempt = await beginVerification(system, { email })
      const otp = createWrongCode(await showCode(system.auth, attempt))
      for (let n = 0; n < 5; n++)
        expect((await completeVerification(system.auth, attempt.agent, { otp })).status).toBe(400)
    }
  }
  const completeAsNewAgent = async (email: string) => {
    const attempt = await beginVerification(system, { email })
    return completeVerification(system.auth, attempt.agent, { otp: await showCode(system.auth, attempt) })
  }

  test('after ten at sign-ins, the right code of an agent is accepted', async () => {
    const email = createAddress()
    system.auth.confidential.add(email)
    await enterWrongCodesAtSignIns(email)
    expect((await completeAsNewAgent(email)).status).toBe(200)
    // At sign-ins, even the right code is still refused.
    const tab = await Tab.open(system)
    expect((await tab.submit('code', { code: await tab.requestCode(email) })).status).toBe(400)
  })

  test('after ten of agents, the right code at a sign-in is accepted', async () => {
    const email = createAddress()
    await enterWrongCodesAsAgents(email)
    expect((await completeSignIn(system, { email })).verificationId).toMatch(/^clm_/)
    const response = await completeAsNewAgent(email)
    expect([response.status, JSON.parse(response.text).code]).toEqual([410, 'otp-locked'])
  })
})

describe('the mails of sign-ins are limited to', () => {
  test('three codes for a sign-in, even to different addresses', async () => {
    const tab = await Tab.open(system)
    for (let n = 0; n < 3; n++) {
      if (n > 0) await tab.submit('address')
      const email = createAddress('canary-many')
      system.auth.confidential.add(email)
      await tab.requestCode(email)
    }
    expect(tab.page.text).toContain('We have sent three codes, and cannot send more')
    const countBefore = await countRowsFrom(system, 'mails')
    const response = await tab.submit('email', { email: tab.email })
    expect([response.status, tab.heading]).toEqual([410, 'We cannot send more codes'])
    expect(tab.page.text).toContain('type the last code')
    expect(await countRowsFrom(system, 'mails')).toBe(countBefore)
    expect((await tab.followToApp(await tab.submit('deny'))).searchParams.get('error')).toBe('access_denied')
  })

  test('ten codes for one network address, after which the response is 429', async () => {
    await using auth = await system.startAnother({ AUTH_LIMITS_FACTOR: '1' })
    const email = createAddress()
    const statuses: number[] = []
    for (let n = 0; n < 11; n++) {
      const tab = await Tab.open(system, { auth })
      statuses.push((await tab.submit('email', { email })).status)
    }
    expect(statuses).toEqual([...Array<number>(10).fill(303), 429])
  })

  test('five codes a day to a mailbox from one network, with the same page for the sixth', async () => {
    await using limitedSystem = await startSignInSystem({ AUTH_LIMITS_FACTOR: '1' })
    const email = createAddress()
    limitedSystem.auth.confidential.add(email)
    const headings: (string | undefined)[] = []
    for (let n = 0; n < 6; n++) {
      const tab = await Tab.open(limitedSystem)
      expect((await tab.submit('email', { email })).status).toBe(303)
      headings.push(tab.heading)
    }
    expect(headings).toEqual(Array(6).fill('Type the sign-in code, then press Allow or Deny'))
    const countMailsInState = (state: string) =>
      countRowsFrom(limitedSystem, 'mails where state = $1', [state])
    await expect.poll(() => countMailsInState('dropped')).toBe(1)
    await expect.poll(() => findMailedCodes(limitedSystem, email).length).toBe(5)
    await expect.poll(() => countMailsInState('queued')).toBe(0)
    // An agent can still ask the person to confirm it.
    await beginVerification(limitedSystem, { email })
  })

  test('another network after one has used up its codes for a mailbox, until 20 are sent in all', async () => {
    await using limitedSystem = await startSignInSystem({
      AUTH_LIMITS_FACTOR: '1',
      AUTH_TRUSTED_PROXIES: '127.0.0.1',
    })
    const email = createAddress()
    limitedSystem.auth.confidential.add(email)
    const requestCodesFrom = async (network: number, count: number) => {
      for (let n = 0; n < count; n++) {
        const tab = await Tab.open(limitedSystem)
        const headers = { ...FROM_PAGE, 'x-forwarded-for': `203.0.113.${network}` }
        expect((await tab.submit('email', { email }, headers)).status).toBe(303)
      }
    }
    const expectSent = (sentCount: number, droppedCount: number) =>
      expect
        .poll(
          () =>
            Promise.all(
              ['sent', 'dropped', 'queued'].map((state) =>
                countRowsFrom(limitedSystem, 'mails where state = $1', [state]),
              ),
            ),
          { timeout: 10_000 },
        )
        .toEqual([sentCount, droppedCount, 0])
    await requestCodesFrom(1, 6)
    await expectSent(5, 1)
    for (const network of [2, 3, 4]) await requestCodesFrom(network, 5)
    await expectSent(20, 1)
    await requestCodesFrom(5, 1)
    await expectSent(20, 2)
  })

  test('no fewer codes after agents have used up the mails to the mailbox', async () => {
    await using limitedSystem = await startSignInSystem({ AUTH_LIMITS_FACTOR: '1' })
    const { auth } = limitedSystem
    const email = createAddress()
    for (let n = 0; n < 5; n++) await beginVerification(limitedSystem, { email })
    expect((await requestVerification(auth, await register(auth), { email })).status).toBe(202)
    await expect.poll(() => countRowsFrom(limitedSystem, `mails where state = 'dropped'`)).toBe(1)
    expect((await completeSignIn(limitedSystem, { email })).verificationId).toMatch(/^clm_/)
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
    'valid addresses: for "%s", the page describes the mistake, and nothing is stored',
    async ([email, mistake]) => {
      const tab = await Tab.open(system)
      const response = await tab.submit('email', { email })
      expect(response.status).toBe(400)
      expect(response.text).toContain(mistake)
      expect(response.text).toContain('aria-invalid="true"')
      expect(await countRowsFrom(system, 'agents where app_client_id = $1', [tab.app.id])).toBe(0)
      expect((await tab.allow(await tab.requestCode())).searchParams.get('code')).not.toBeNull()
    },
  )
})

describe('the link that ends access', () => {
  /** Waits for the mail about one of the connections of an address, and finds the secret of its link. */
  const findEndSecret = async (email: string, index: number) => {
    const findMails = () =>
      system.mailServer.received.filter(
        ({ to, subject }) => to.includes(email) && subject.includes('can now send us'),
      )
    await expect.poll(() => findMails().length).toBeGreaterThan(index)
    const secret = findLinkSecret(findMails()[index]?.text ?? '')
    system.auth.confidential.add(secret)
    return secret
  }
  /** The ids of the verifications by address. */
  const idsByEmail = new Map<string, string[]>()
  const countLiveVerifications = (email: string) =>
    countRowsFrom(system, 'claims where ended_at is null and id = any($1)', [idsByEmail.get(email) ?? []])
  async function connectApps(email: string, hosts: readonly string[]) {
    const verificationIds: string[] = []
    for (const host of hosts) {
      const app = exampleAppAt(`https://${host}/cb`)
      verificationIds.push((await completeSignIn(system, { app, email })).verificationId)
    }
    idsByEmail.set(email, verificationIds)
  }

  test('lists all access that the person has given, ends one access, and leads to the others', async () => {
    const email = createAddress()
    const strangersSignIn = await completeSignIn(system, { app: exampleAppAt('https://stranger.example/cb') })
    await connectApps(email, ['one.example', 'two.example'])
    const secret = await findEndSecret(email, 0)
    const list = await openClaimPage(system.auth, { end: secret })
    expect(list.status).toBe(200)
    expect(list.text).toContain('<h1>Who can send us messages for you</h1>')
    expect(list.text).toContain('An app at one.example')
    expect(list.text).toContain('An app at two.example')
    expect(list.text).not.toContain('stranger.example')
    expect(list.text).toContain('aria-describedby="access-1"')
    const endedPage = await pressButton(system.auth, { end: secret })
    expect(endedPage.text).toContain('See who still has access')
    expect(await countLiveVerifications(email)).toBe(1)
    const nextSecret = /name="end" type="hidden" value="([^"]+)"/.exec(endedPage.text)?.[1] ?? ''
    const nextPage = await openClaimPage(system.auth, { end: nextSecret })
    expect(nextPage.text).toContain('Do you want to end this app’s access?')
    expect((await pressButton(system.auth, { end: nextSecret })).text).not.toContain('See who still')
    expect(await countLiveVerifications(email)).toBe(0)
    expect((await openClaimPage(system.auth, { end: secret })).status).toBe(410)
    expect(
      await countRowsFrom(system, 'claims where id = $1 and ended_at is null', [
        strangersSignIn.verificationId,
      ]),
    ).toBe(1)
  })

  test('ends all access together, and a mail confirms the end of each', async () => {
    const email = createAddress()
    await connectApps(email, ['one.example', 'two.example', 'three.example'])
    const endedPage = await pressButton(system.auth, { end: await findEndSecret(email, 1), all: 'yes' })
    expect(endedPage.status).toBe(200)
    expect(await countLiveVerifications(email)).toBe(0)
    const findEndMails = () =>
      system.mailServer.received.filter(
        ({ to, subject }) =>
          to.includes(email) && subject === 'An app can no longer send us messages for you',
      )
    await expect.poll(() => findEndMails().length).toBe(3)
    expect(findEndMails()[0]?.text).toContain("You ended an app's access to Plainpath.")
  })
})
