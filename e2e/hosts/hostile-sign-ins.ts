import { createSender, json } from '../send.ts'
import { postAs } from '../verification-steps.ts'
import type { Authorization } from './app.ts'
import { BUTTONS, type Person } from './person.ts'
import { findForm, type Page } from './plain-browser.ts'
import {
  CLAUDE_URI,
  type HostileCase,
  type Outcome,
  type Scene,
  toApiOutcome,
  toCallbackOutcome,
  toPageOutcome,
} from './scene.ts'

/** A sign-in whose code was mailed but not typed yet. */
interface StartedSignIn {
  readonly person: Person
  readonly authorization: Authorization
  readonly page: Page
  readonly code: string
}

async function beginSignIn(scene: Scene, person = scene.createPerson()): Promise<StartedSignIn> {
  const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI })
  return { person, authorization, ...(await person.giveAddress(await person.begin(authorization.url))) }
}

/** Types a code, and lets the app redeem the result. */
async function typeCode(
  scene: Scene,
  { person, authorization, page }: StartedSignIn,
  code: string,
): Promise<Outcome> {
  return redeem(scene, authorization, await person.browser.press(page, BUTTONS.allow, { code }))
}

const redeem = async (scene: Scene, authorization: Authorization, page: Page): Promise<Outcome> =>
  page.externalTarget ? scene.redeem(scene.app, authorization, page.externalTarget) : toPageOutcome(page)

/** Makes the sign-ins look 61 s older, because the service mails another code only after a minute. */
const passCodeInterval = (scene: Scene) =>
  scene.db.query(
    `update claim_attempts set created_at = created_at - interval '61 seconds' where purpose = 'sign-in'`,
  )

/** Returns a code that differs from this one. */
const changeCode = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, '0')

/** Creates a step that types the code that `getCode` returns. */
const typeCodeFrom =
  (getCode: (scene: Scene, signIn: StartedSignIn) => Promise<string>) =>
  async (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const signIn = await beginSignIn(scene)
    const code = isHostile ? await getCode(scene, signIn) : signIn.code
    await scene.startCountingGrants()
    return typeCode(scene, signIn, code)
  }

/** Creates a step that sends the form of the page with the headers that a browser sends for a form of another site. */
const pressFromOtherSite =
  (headers: Readonly<Record<string, string>>) =>
  async (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const { person, authorization, page, code } = await beginSignIn(scene)
    await scene.startCountingGrants()
    const options = isHostile ? { headers } : {}
    return redeem(scene, authorization, await person.browser.press(page, BUTTONS.allow, { code }, options))
  }

/** Creates a step that sends the form with the Allow button, with changed fields. */
const allowWithFields =
  (
    change: (
      fields: Record<string, string>,
      scene: Scene,
    ) => Promise<Record<string, string>> | Record<string, string>,
  ) =>
  async (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const { person, authorization, page, code } = await beginSignIn(scene)
    const { action, fields } = findForm(page, BUTTONS.allow)
    const content = isHostile ? await change({ ...fields, code }, scene) : { ...fields, code }
    await scene.startCountingGrants()
    return redeem(scene, authorization, await person.browser.post(action, content))
  }

/** The page for a sign-in that has ended or belongs to another browser. It does not say which. */
const GONE_PAGE = { at: 'page', status: 410, heading: 'This page no longer works' } as const
/** The page that asks for the e-mail address, as at the beginning of a sign-in. */
const ADDRESS_PAGE = { at: 'page', status: 200, heading: 'Do you want to connect this app?' } as const
/** The page that reports a wrong input and asks for it again. */
const ASKED_AGAIN_PAGE = { at: 'page', status: 400 } as const
const FORBIDDEN_PAGE = { at: 'page', status: 403 } as const

export const HOSTILE_SIGN_INS: readonly HostileCase[] = [
  {
    description: 'a code from the interaction of another person',
    expectedOutcome: ASKED_AGAIN_PAGE,
    run: typeCodeFrom(async (scene) => (await beginSignIn(scene)).code),
  },
  {
    description: 'a code from another interaction of the same person',
    expectedOutcome: ASKED_AGAIN_PAGE,
    // The second interaction is in another browser, so that the two have only the address in common.
    run: typeCodeFrom(
      async (scene, { person }) =>
        (await beginSignIn(scene, scene.createPerson({ email: person.email }))).code,
    ),
  },
  {
    description: 'a code for an agent that the same person verifies',
    expectedOutcome: ASKED_AGAIN_PAGE,
    run: typeCodeFrom(async (scene, { person }) => {
      const agent = await scene.registerAgent()
      const response = await postAs(scene.sender, agent, '/api/agent/claim', { email: person.email })
      const { match_phrase: phrase } = JSON.parse(response.text) as { match_phrase: string }
      return scene.system.confirm(person.email, phrase)
    }),
  },
  {
    description: 'a code that was replaced by another one',
    expectedOutcome: ASKED_AGAIN_PAGE,
    async run(scene, isHostile) {
      const signIn = await beginSignIn(scene)
      await passCodeInterval(scene)
      const page = await signIn.person.browser.press(signIn.page, BUTTONS.again)
      const [replacedCode = '', newCode = ''] = await signIn.person.waitForCodes(2)
      await scene.startCountingGrants()
      return typeCode(scene, { ...signIn, page }, isHostile ? replacedCode : newCode)
    },
  },
  {
    description: 'a guessed code',
    expectedOutcome: ASKED_AGAIN_PAGE,
    run: typeCodeFrom(async (_scene, { code }) => changeCode(code)),
  },
  {
    description: 'the right code after five guesses',
    expectedOutcome: ADDRESS_PAGE,
    async run(scene, isHostile) {
      const signIn = await beginSignIn(scene)
      await scene.startCountingGrants()
      for (let guesses = isHostile ? 5 : 4; guesses > 0; guesses -= 1)
        await signIn.person.browser.press(signIn.page, BUTTONS.allow, { code: changeCode(signIn.code) })
      return typeCode(scene, signIn, signIn.code)
    },
  },
  {
    description: 'a code after ten minutes',
    expectedOutcome: { at: 'page' },
    async run(scene, isHostile) {
      const signIn = await beginSignIn(scene)
      if (isHostile)
        await scene.db.query(
          `update claim_attempts set code_expires_at = now() - interval '1 second' where state = 'code_shown'`,
        )
      await scene.startCountingGrants()
      return typeCode(scene, signIn, signIn.code)
    },
  },
  {
    description: 'the page, opened in another browser by its address (fixation)',
    expectedOutcome: GONE_PAGE,
    async run(scene, isHostile) {
      const attacker = scene.createPerson()
      const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI })
      const page = await attacker.begin(authorization.url)
      const victim = isHostile ? scene.createPerson() : attacker
      await scene.startCountingGrants()
      const openedPage = await victim.browser.open(page.path)
      if (openedPage.status !== 200) return toPageOutcome(openedPage)
      const decision = await victim.giveAddress(openedPage)
      return redeem(
        scene,
        authorization,
        await victim.browser.press(decision.page, BUTTONS.allow, { code: decision.code }),
      )
    },
  },
  {
    description: 'the form of the code, sent by another browser',
    expectedOutcome: GONE_PAGE,
    async run(scene, isHostile) {
      const { person, authorization, page, code } = await beginSignIn(scene)
      const { browser } = isHostile ? scene.createPerson() : person
      await scene.startCountingGrants()
      return redeem(scene, authorization, await browser.press(page, BUTTONS.allow, { code }))
    },
  },
  {
    description: 'a sign-in with the cookies of the attacker’s own sign-in (fixation by cookies)',
    expectedOutcome: GONE_PAGE,
    async run(scene, isHostile) {
      const { person, authorization, page, code } = await beginSignIn(scene)
      const { person: attacker } = await beginSignIn(scene)
      const thief = scene.createPerson()
      thief.browser.takeCookies(isHostile ? attacker.browser : person.browser)
      await scene.startCountingGrants()
      return redeem(scene, authorization, await thief.browser.press(page, BUTTONS.allow, { code }))
    },
  },
  {
    description: 'the last redirect of the flow, opened in another browser',
    expectedOutcome: { at: 'page', status: 404 },
    async run(scene, isHostile) {
      const { person, authorization, page, code } = await beginSignIn(scene)
      const { redirects } = await person.browser.press(
        page,
        BUTTONS.allow,
        { code },
        { followsRedirects: false },
      )
      const [resumePath = ''] = redirects
      await scene.startCountingGrants()
      const { browser } = isHostile ? scene.createPerson() : person
      return redeem(scene, authorization, await browser.open(resumePath))
    },
  },
  {
    description: 'the button, pressed by a page of another site',
    expectedOutcome: FORBIDDEN_PAGE,
    run: pressFromOtherSite({ origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }),
  },
  {
    description: 'the button, pressed by a page of a sibling site',
    expectedOutcome: FORBIDDEN_PAGE,
    run: pressFromOtherSite({ origin: 'https://evil.plainpath.example', 'sec-fetch-site': 'same-site' }),
  },
  {
    description: 'the button, pressed by a page without an origin',
    expectedOutcome: FORBIDDEN_PAGE,
    run: pressFromOtherSite({ origin: 'null', 'sec-fetch-site': 'cross-site' }),
  },
  {
    description: 'a form without the secret of the page',
    expectedOutcome: FORBIDDEN_PAGE,
    run: allowWithFields((fields) => ({ ...fields, token: '' })),
  },
  {
    description: 'a form with the secret of another page',
    expectedOutcome: FORBIDDEN_PAGE,
    run: allowWithFields(async (fields, scene) => {
      const { page } = await beginSignIn(scene)
      return { ...fields, token: findForm(page, BUTTONS.allow).fields['token'] ?? '' }
    }),
  },
  {
    description: 'the code before the e-mail address',
    expectedOutcome: ADDRESS_PAGE,
    async run(scene, isHostile) {
      // The harmless twin is an ordinary sign-in.
      if (!isHostile) return typeCodeFrom(async () => '')(scene, false)
      const { code } = await beginSignIn(scene)
      const person = scene.createPerson()
      const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI })
      const page = await person.begin(authorization.url)
      const { action, fields } = findForm(page, BUTTONS.continue)
      await scene.startCountingGrants()
      return redeem(
        scene,
        authorization,
        await person.browser.post(action, { ...fields, step: 'code', code }),
      )
    },
  },
  {
    description: 'Allow after Deny, with the back button',
    expectedOutcome: GONE_PAGE,
    async run(scene, isHostile) {
      const signIn = await beginSignIn(scene)
      if (isHostile) await signIn.person.deny(signIn.page)
      await scene.startCountingGrants()
      return typeCode(scene, signIn, signIn.code)
    },
  },
  {
    description: 'Deny instead of Allow',
    expectedOutcome: { at: 'callback', error: 'access_denied' },
    async run(scene, isHostile) {
      const signIn = await beginSignIn(scene)
      await scene.startCountingGrants()
      return isHostile
        ? toCallbackOutcome(await signIn.person.deny(signIn.page))
        : typeCode(scene, signIn, signIn.code)
    },
  },
  {
    description: 'Deny before the e-mail address',
    expectedOutcome: { at: 'callback', error: 'access_denied' },
    async run(scene, isHostile) {
      const person = scene.createPerson()
      const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI })
      const page = await person.begin(authorization.url)
      await scene.startCountingGrants()
      if (isHostile) return toCallbackOutcome(await person.deny(page))
      const decision = await person.giveAddress(page)
      return scene.redeem(scene.app, authorization, await person.allow(decision.page, decision.code))
    },
  },
  {
    description: 'Allow a second time, with the back button',
    expectedOutcome: GONE_PAGE,
    async run(scene, isHostile) {
      const signIn = await beginSignIn(scene)
      if (isHostile) await signIn.person.allow(signIn.page, signIn.code)
      await scene.startCountingGrants()
      return typeCode(scene, signIn, signIn.code)
    },
  },
  {
    description: 'the code of one tab in another tab',
    expectedOutcome: ASKED_AGAIN_PAGE,
    async run(scene, isHostile) {
      const person = scene.createPerson()
      const firstTab = await beginSignIn(scene, person)
      const secondTab = await beginSignIn(scene, person)
      await scene.startCountingGrants()
      return typeCode(scene, firstTab, isHostile ? secondTab.code : firstTab.code)
    },
  },
  {
    description: 'a fourth code',
    expectedOutcome: { at: 'page', status: 410, heading: 'We cannot send more codes' },
    async run(scene, isHostile) {
      const signIn = await beginSignIn(scene)
      let { page } = signIn
      let codes: readonly string[] = []
      for (const count of [2, 3]) {
        await passCodeInterval(scene)
        page = await signIn.person.browser.press(page, BUTTONS.again)
        // A code that another one replaces before its mail is sent is not mailed.
        codes = await signIn.person.waitForCodes(count)
      }
      await scene.startCountingGrants()
      if (!isHostile) return typeCode(scene, { ...signIn, page }, codes.at(-1) ?? '')
      await passCodeInterval(scene)
      const { action, fields } = findForm(signIn.page, BUTTONS.again)
      return toPageOutcome(await signIn.person.browser.post(action, fields))
    },
  },
  {
    description: 'an e-mail address with a line break, to add recipients',
    expectedOutcome: ASKED_AGAIN_PAGE,
    async run(scene, isHostile) {
      const person = scene.createPerson()
      const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI })
      const page = await person.begin(authorization.url)
      await scene.startCountingGrants()
      if (isHostile)
        return toPageOutcome(
          await person.browser.press(page, BUTTONS.continue, {
            email: `${person.email}\r\nBcc: evil@example.org`,
          }),
        )
      const decision = await person.giveAddress(page)
      return scene.redeem(scene.app, authorization, await person.allow(decision.page, decision.code))
    },
  },
  {
    description: 'an earlier sign-in in the same browser',
    expectedOutcome: ADDRESS_PAGE,
    async run(scene, isHostile) {
      const { person } = await beginSignIn(scene)
      await person.signIn(scene.app.authorize({ redirectUri: CLAUDE_URI }).url)
      await scene.startCountingGrants()
      const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI })
      // The page asks for the address again, and shows nothing of the earlier sign-in.
      if (isHostile) return toPageOutcome(await person.browser.open(authorization.url))
      return scene.redeem(scene.app, authorization, await person.signIn(authorization.url))
    },
  },
  {
    description: 'the code of a sign-in at the endpoint for agents',
    expectedOutcome: { at: 'api', status: 409, error: 'code-not-shown' },
    async run(scene, isHostile) {
      const signIn = await beginSignIn(scene)
      const agent = await scene.registerAgent()
      await postAs(scene.sender, agent, '/api/agent/claim', { email: signIn.person.email })
      await scene.startCountingGrants()
      if (!isHostile) return typeCode(scene, signIn, signIn.code)
      return toApiOutcome(
        await postAs(scene.sender, agent, '/api/agent/claim/complete', { otp: signIn.code }),
      )
    },
  },
  {
    description: 'the code of a sign-in at the endpoint for agents, sent by the app',
    expectedOutcome: { at: 'api', status: 401 },
    async run(scene, isHostile) {
      const signIn = await beginSignIn(scene)
      await scene.startCountingGrants()
      if (!isHostile) return typeCode(scene, signIn, signIn.code)
      using sender = createSender(scene.origin)
      const content = json({ otp: signIn.code, client_id: scene.app.clientId })
      return toApiOutcome(
        await sender.send({ method: 'POST', path: '/api/agent/claim/complete', ...content }),
      )
    },
  },
]
