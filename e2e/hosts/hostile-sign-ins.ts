import { postAs } from '../lend-mailbox-to.ts'
import { createSender, json } from '../send.ts'
import type { Authorization } from './app.ts'
import { BUTTONS, type Person } from './person.ts'
import { findForm, type Page } from './plain-browser.ts'
import { atApi, atCallback, atPage, CLAUDE_URI, type HostileRow, type Outcome, type Scene } from './scene.ts'

/** A sign-in whose code was mailed but not typed. */
interface StartedSignIn {
  readonly person: Person
  readonly authorization: Authorization
  readonly page: Page
  readonly code: string
}

async function beginSignIn(scene: Scene, person = scene.person()): Promise<StartedSignIn> {
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
  page.left ? scene.redeem(scene.app, authorization, page.left) : atPage(page)

/** Ages the attempts, so that another code may be mailed. */
const passCodeInterval = (scene: Scene) =>
  scene.db.query(
    `update claim_attempts set created_at = created_at - interval '61 seconds' where purpose = 'sign-in'`,
  )

/** Returns a code that differs from this one. */
const changeCode = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, '0')

/** Types the code of another sign-in. */
const typeCodeFrom =
  (elsewhere: (scene: Scene, signIn: StartedSignIn) => Promise<string>) =>
  async (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const signIn = await beginSignIn(scene)
    const code = isHostile ? await elsewhere(scene, signIn) : signIn.code
    await scene.attack()
    return typeCode(scene, signIn, code)
  }

/** Sends a form of the page with headers that a browser sends for a form of another site. */
const pressFromElsewhere =
  (headers: Readonly<Record<string, string>>) =>
  async (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const { person, authorization, page, code } = await beginSignIn(scene)
    await scene.attack()
    const options = isHostile ? { headers } : {}
    return redeem(scene, authorization, await person.browser.press(page, BUTTONS.allow, { code }, options))
  }

/** Changes the fields of the form with the Allow button. */
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
    await scene.attack()
    return redeem(scene, authorization, await person.browser.post(action, content))
  }

/** The page for a sign-in that has ended or belongs to another browser. It does not say which. */
const GONE_PAGE = { at: 'page', status: 410, heading: 'This page no longer works' } as const
const ASKED_AGAIN_PAGE = { at: 'page', status: 400 } as const
const FORBIDDEN_PAGE = { at: 'page', status: 403 } as const

export const HOSTILE_SIGN_INS: readonly HostileRow[] = [
  {
    what: 'a code of the interaction of somebody else',
    refused: ASKED_AGAIN_PAGE,
    run: typeCodeFrom(async (scene) => (await beginSignIn(scene)).code),
  },
  {
    what: 'a code of another interaction of the same person',
    refused: ASKED_AGAIN_PAGE,
    // The second interaction is in another browser, so that the two have only the address in common.
    run: typeCodeFrom(
      async (scene, { person }) => (await beginSignIn(scene, scene.person({ email: person.email }))).code,
    ),
  },
  {
    what: 'a code of an agent that the same person verifies',
    refused: ASKED_AGAIN_PAGE,
    run: typeCodeFrom(async (scene, { person }) => {
      const agent = await scene.registerAgent()
      const response = await postAs(scene.sender, agent, '/api/agent/claim', { email: person.email })
      const { match_phrase: phrase } = JSON.parse(response.text) as { match_phrase: string }
      return scene.system.confirm(person.email, phrase)
    }),
  },
  {
    what: 'a code that was replaced by another one',
    refused: ASKED_AGAIN_PAGE,
    async run(scene, isHostile) {
      const signIn = await beginSignIn(scene)
      await passCodeInterval(scene)
      const page = await signIn.person.browser.press(signIn.page, BUTTONS.again)
      const [first = '', second = ''] = await signIn.person.codes(2)
      await scene.attack()
      return typeCode(scene, { ...signIn, page }, isHostile ? first : second)
    },
  },
  {
    what: 'a guessed code',
    refused: ASKED_AGAIN_PAGE,
    run: typeCodeFrom(async (_scene, { code }) => changeCode(code)),
  },
  {
    what: 'the right code after five guesses',
    refused: { at: 'page', status: 200, heading: 'Do you want to connect this app?' },
    async run(scene, isHostile) {
      const signIn = await beginSignIn(scene)
      await scene.attack()
      for (let guesses = isHostile ? 5 : 4; guesses > 0; guesses -= 1)
        await signIn.person.browser.press(signIn.page, BUTTONS.allow, { code: changeCode(signIn.code) })
      return typeCode(scene, signIn, signIn.code)
    },
  },
  {
    what: 'a code after ten minutes',
    refused: { at: 'page' },
    async run(scene, isHostile) {
      const signIn = await beginSignIn(scene)
      if (isHostile)
        await scene.db.query(
          `update claim_attempts set code_expires_at = now() - interval '1 second' where state = 'code_shown'`,
        )
      await scene.attack()
      return typeCode(scene, signIn, signIn.code)
    },
  },
  {
    what: 'the page, opened in another browser by its address (fixation)',
    refused: GONE_PAGE,
    async run(scene, isHostile) {
      const attacker = scene.person()
      const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI })
      const page = await attacker.begin(authorization.url)
      const victim = isHostile ? scene.person() : attacker
      await scene.attack()
      const openedPage = await victim.browser.open(page.path)
      if (openedPage.status !== 200) return atPage(openedPage)
      const decision = await victim.giveAddress(openedPage)
      return redeem(
        scene,
        authorization,
        await victim.browser.press(decision.page, BUTTONS.allow, { code: decision.code }),
      )
    },
  },
  {
    what: 'the form of the code, sent by another browser',
    refused: GONE_PAGE,
    async run(scene, isHostile) {
      const { person, authorization, page, code } = await beginSignIn(scene)
      const { browser } = isHostile ? scene.person() : person
      await scene.attack()
      return redeem(scene, authorization, await browser.press(page, BUTTONS.allow, { code }))
    },
  },
  {
    what: 'a sign-in with the cookies of the attacker’s own sign-in (fixation by cookies)',
    refused: GONE_PAGE,
    async run(scene, isHostile) {
      const { person, authorization, page, code } = await beginSignIn(scene)
      const { person: attacker } = await beginSignIn(scene)
      const thief = scene.person()
      thief.browser.takeCookies(isHostile ? attacker.browser : person.browser)
      await scene.attack()
      return redeem(scene, authorization, await thief.browser.press(page, BUTTONS.allow, { code }))
    },
  },
  {
    what: 'the end of the flow, opened in another browser',
    refused: { at: 'page', status: 404 },
    async run(scene, isHostile) {
      const { person, authorization, page, code } = await beginSignIn(scene)
      const { redirects } = await person.browser.press(page, BUTTONS.allow, { code }, { follows: false })
      const [resume = ''] = redirects
      await scene.attack()
      const { browser } = isHostile ? scene.person() : person
      return redeem(scene, authorization, await browser.open(resume))
    },
  },
  {
    what: 'the button, pressed by a page of another site',
    refused: FORBIDDEN_PAGE,
    run: pressFromElsewhere({ origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }),
  },
  {
    what: 'the button, pressed by a page of a sibling site',
    refused: FORBIDDEN_PAGE,
    run: pressFromElsewhere({ origin: 'https://evil.plainpath.example', 'sec-fetch-site': 'same-site' }),
  },
  {
    what: 'the button, pressed by a page without an origin',
    refused: FORBIDDEN_PAGE,
    run: pressFromElsewhere({ origin: 'null', 'sec-fetch-site': 'cross-site' }),
  },
  {
    what: 'a form without the secret of the page',
    refused: FORBIDDEN_PAGE,
    run: allowWithFields((fields) => ({ ...fields, token: '' })),
  },
  {
    what: 'a form with the secret of another page',
    refused: FORBIDDEN_PAGE,
    run: allowWithFields(async (fields, scene) => {
      const { page } = await beginSignIn(scene)
      return { ...fields, token: findForm(page, BUTTONS.allow).fields['token'] ?? '' }
    }),
  },
  {
    what: 'the code before the address',
    refused: { at: 'page', status: 200, heading: 'Do you want to connect this app?' },
    async run(scene, isHostile) {
      if (!isHostile) return typeCodeFrom(async () => '')(scene, false)
      const { code } = await beginSignIn(scene)
      const person = scene.person()
      const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI })
      const page = await person.begin(authorization.url)
      const { action, fields } = findForm(page, BUTTONS.continue)
      await scene.attack()
      return redeem(
        scene,
        authorization,
        await person.browser.post(action, { ...fields, step: 'code', code }),
      )
    },
  },
  {
    what: 'Allow after Deny, with the back button',
    refused: GONE_PAGE,
    async run(scene, isHostile) {
      const signIn = await beginSignIn(scene)
      if (isHostile) await signIn.person.deny(signIn.page)
      await scene.attack()
      return typeCode(scene, signIn, signIn.code)
    },
  },
  {
    what: 'Deny instead of Allow',
    refused: { at: 'callback', error: 'access_denied' },
    async run(scene, isHostile) {
      const signIn = await beginSignIn(scene)
      await scene.attack()
      return isHostile
        ? atCallback(await signIn.person.deny(signIn.page))
        : typeCode(scene, signIn, signIn.code)
    },
  },
  {
    what: 'Deny before the address',
    refused: { at: 'callback', error: 'access_denied' },
    async run(scene, isHostile) {
      const person = scene.person()
      const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI })
      const page = await person.begin(authorization.url)
      await scene.attack()
      if (isHostile) return atCallback(await person.deny(page))
      const decision = await person.giveAddress(page)
      return scene.redeem(scene.app, authorization, await person.allow(decision.page, decision.code))
    },
  },
  {
    what: 'Allow a second time, with the back button',
    refused: GONE_PAGE,
    async run(scene, isHostile) {
      const signIn = await beginSignIn(scene)
      if (isHostile) await signIn.person.allow(signIn.page, signIn.code)
      await scene.attack()
      return typeCode(scene, signIn, signIn.code)
    },
  },
  {
    what: 'the code of one tab in the other',
    refused: ASKED_AGAIN_PAGE,
    async run(scene, isHostile) {
      const person = scene.person()
      const first = await beginSignIn(scene, person)
      const second = await beginSignIn(scene, person)
      await scene.attack()
      return typeCode(scene, first, isHostile ? second.code : first.code)
    },
  },
  {
    what: 'a fourth code',
    refused: { at: 'page', status: 410, heading: 'We cannot send more codes' },
    async run(scene, isHostile) {
      const signIn = await beginSignIn(scene)
      let { page } = signIn
      for (let repetition = 0; repetition < 2; repetition += 1) {
        await passCodeInterval(scene)
        page = await signIn.person.browser.press(page, BUTTONS.again)
      }
      const codes = await signIn.person.codes(3)
      await scene.attack()
      if (!isHostile) return typeCode(scene, { ...signIn, page }, codes.at(-1) ?? '')
      await passCodeInterval(scene)
      const { action, fields } = findForm(signIn.page, BUTTONS.again)
      return atPage(await signIn.person.browser.post(action, fields))
    },
  },
  {
    what: 'an address with a line end, to add addressees',
    refused: ASKED_AGAIN_PAGE,
    async run(scene, isHostile) {
      const person = scene.person()
      const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI })
      const page = await person.begin(authorization.url)
      await scene.attack()
      if (isHostile)
        return atPage(
          await person.browser.press(page, BUTTONS.continue, {
            email: `${person.email}\r\nBcc: evil@example.org`,
          }),
        )
      const decision = await person.giveAddress(page)
      return scene.redeem(scene.app, authorization, await person.allow(decision.page, decision.code))
    },
  },
  {
    what: 'a sign-in of before, in the same browser',
    refused: { at: 'page', status: 200, heading: 'Do you want to connect this app?' },
    async run(scene, isHostile) {
      const { person } = await beginSignIn(scene)
      await person.signIn(scene.app.authorize({ redirectUri: CLAUDE_URI }).url)
      await scene.attack()
      const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI })
      // The page asks for the address again, and shows nothing of the earlier sign-in.
      if (isHostile) return atPage(await person.browser.open(authorization.url))
      return scene.redeem(scene.app, authorization, await person.signIn(authorization.url))
    },
  },
  {
    what: 'the code of a sign-in at the endpoint of agents',
    refused: { at: 'api', status: 409, error: 'code-not-shown' },
    async run(scene, isHostile) {
      const signIn = await beginSignIn(scene)
      const agent = await scene.registerAgent()
      await postAs(scene.sender, agent, '/api/agent/claim', { email: signIn.person.email })
      await scene.attack()
      if (!isHostile) return typeCode(scene, signIn, signIn.code)
      return atApi(await postAs(scene.sender, agent, '/api/agent/claim/complete', { otp: signIn.code }))
    },
  },
  {
    what: 'the code of a sign-in at the endpoint of agents, as the app',
    refused: { at: 'api', status: 401 },
    async run(scene, isHostile) {
      const signIn = await beginSignIn(scene)
      await scene.attack()
      if (!isHostile) return typeCode(scene, signIn, signIn.code)
      using sender = createSender(scene.origin)
      const content = json({ otp: signIn.code, client_id: scene.app.clientId })
      return atApi(await sender.send({ method: 'POST', path: '/api/agent/claim/complete', ...content }))
    },
  },
]
