import { postAs } from '../lend-mailbox-to.ts'
import { createSender, json } from '../send.ts'
import type { Authorization } from './app.ts'
import { BUTTONS, type Person } from './person.ts'
import { findForm, type Page } from './plain-browser.ts'
import { atApi, atCallback, atPage, CLAUDE_URI, type HostileRow, type Outcome, type Scene } from './scene.ts'

/** A sign-in whose code was mailed and not typed. */
interface Begun {
  readonly person: Person
  readonly authorization: Authorization
  readonly page: Page
  readonly code: string
}

async function begin(scene: Scene, person = scene.person()): Promise<Begun> {
  const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI })
  return { person, authorization, ...(await person.giveAddress(await person.begin(authorization.url))) }
}

/** Types a code, and lets the app redeem what comes of it. */
async function type(scene: Scene, { person, authorization, page }: Begun, code: string): Promise<Outcome> {
  return redeem(scene, authorization, await person.browser.press(page, BUTTONS.allow, { code }))
}

const redeem = async (scene: Scene, authorization: Authorization, page: Page): Promise<Outcome> =>
  page.left ? scene.redeem(scene.app, authorization, page.left) : atPage(page)

/** Another code may be mailed now. */
const aMinuteLater = (scene: Scene) =>
  scene.db.query(
    `update claim_attempts set created_at = created_at - interval '61 seconds' where purpose = 'sign-in'`,
  )

/** A code that is not this one. */
const otherThan = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, '0')

/** Types a code of somewhere else. */
const codeFrom =
  (elsewhere: (scene: Scene, begun: Begun) => Promise<string>) =>
  async (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const begun = await begin(scene)
    const code = isHostile ? await elsewhere(scene, begun) : begun.code
    await scene.attack()
    return type(scene, begun, code)
  }

/** Sends a form of the page with headers that a browser sends for a form of another site. */
const fromElsewhere =
  (headers: Readonly<Record<string, string>>) =>
  async (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const { person, authorization, page, code } = await begin(scene)
    await scene.attack()
    const options = isHostile ? { headers } : {}
    return redeem(scene, authorization, await person.browser.press(page, BUTTONS.allow, { code }, options))
  }

/** Changes the fields of the form that allows. */
const withFields =
  (
    change: (
      fields: Record<string, string>,
      scene: Scene,
    ) => Promise<Record<string, string>> | Record<string, string>,
  ) =>
  async (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const { person, authorization, page, code } = await begin(scene)
    const { action, fields } = findForm(page, BUTTONS.allow)
    const sent = isHostile ? await change({ ...fields, code }, scene) : { ...fields, code }
    await scene.attack()
    return redeem(scene, authorization, await person.browser.post(action, sent))
  }

/** For a sign-in of another browser, or one that is over: the page does not say which. */
const GONE = { at: 'page', status: 410, heading: 'This page no longer works' } as const
const ASKED_AGAIN = { at: 'page', status: 400 } as const
const FORBIDDEN = { at: 'page', status: 403 } as const

export const HOSTILE_SIGN_INS: readonly HostileRow[] = [
  {
    what: 'a code of the interaction of somebody else',
    refused: ASKED_AGAIN,
    run: codeFrom(async (scene) => (await begin(scene)).code),
  },
  {
    what: 'a code of another interaction of the same person',
    refused: ASKED_AGAIN,
    // In another browser of theirs, so that the interactions have nothing in common but the address.
    run: codeFrom(
      async (scene, { person }) => (await begin(scene, scene.person({ email: person.email }))).code,
    ),
  },
  {
    what: 'a code of an agent that the same person verifies',
    refused: ASKED_AGAIN,
    run: codeFrom(async (scene, { person }) => {
      const agent = await scene.registerAgent()
      const response = await postAs(scene.sender, agent, '/api/agent/claim', { email: person.email })
      const { match_phrase: phrase } = JSON.parse(response.text) as { match_phrase: string }
      return scene.system.confirm(person.email, phrase)
    }),
  },
  {
    what: 'a code that was replaced by another one',
    refused: ASKED_AGAIN,
    async run(scene, isHostile) {
      const begun = await begin(scene)
      await aMinuteLater(scene)
      const page = await begun.person.browser.press(begun.page, BUTTONS.again)
      const [first = '', second = ''] = await begun.person.codes(2)
      await scene.attack()
      return type(scene, { ...begun, page }, isHostile ? first : second)
    },
  },
  {
    what: 'a guessed code',
    refused: ASKED_AGAIN,
    run: codeFrom(async (_scene, { code }) => otherThan(code)),
  },
  {
    what: 'the right code after five guesses',
    refused: { at: 'page', status: 200, heading: 'Do you want to connect this app?' },
    async run(scene, isHostile) {
      const begun = await begin(scene)
      await scene.attack()
      for (let guesses = isHostile ? 5 : 4; guesses > 0; guesses -= 1)
        await begun.person.browser.press(begun.page, BUTTONS.allow, { code: otherThan(begun.code) })
      return type(scene, begun, begun.code)
    },
  },
  {
    what: 'a code after ten minutes',
    refused: { at: 'page' },
    async run(scene, isHostile) {
      const begun = await begin(scene)
      if (isHostile)
        await scene.db.query(
          `update claim_attempts set code_expires_at = now() - interval '1 second' where state = 'code_shown'`,
        )
      await scene.attack()
      return type(scene, begun, begun.code)
    },
  },
  {
    what: 'the page, opened in another browser by its address (fixation)',
    refused: GONE,
    async run(scene, isHostile) {
      const attacker = scene.person()
      const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI })
      const page = await attacker.begin(authorization.url)
      const victim = isHostile ? scene.person() : attacker
      await scene.attack()
      const opened = await victim.browser.open(page.path)
      if (opened.status !== 200) return atPage(opened)
      const given = await victim.giveAddress(opened)
      return redeem(
        scene,
        authorization,
        await victim.browser.press(given.page, BUTTONS.allow, { code: given.code }),
      )
    },
  },
  {
    what: 'the form of the code, sent by another browser',
    refused: GONE,
    async run(scene, isHostile) {
      const { person, authorization, page, code } = await begin(scene)
      const { browser } = isHostile ? scene.person() : person
      await scene.attack()
      return redeem(scene, authorization, await browser.press(page, BUTTONS.allow, { code }))
    },
  },
  {
    what: 'a sign-in with the cookies of the attacker’s own sign-in (fixation by cookies)',
    refused: GONE,
    async run(scene, isHostile) {
      const { person, authorization, page, code } = await begin(scene)
      const { person: attacker } = await begin(scene)
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
      const { person, authorization, page, code } = await begin(scene)
      const allowed = await person.browser.press(page, BUTTONS.allow, { code })
      const resume = allowed.redirects.find((each) => new URL(each, scene.origin).origin === scene.origin)
      if (!isHostile) return redeem(scene, authorization, allowed)
      await scene.attack()
      return atPage(await scene.person().browser.open(resume ?? '/oauth/authorize/none'))
    },
  },
  {
    what: 'the button, pressed by a page of another site',
    refused: FORBIDDEN,
    run: fromElsewhere({ origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }),
  },
  {
    what: 'the button, pressed by a page of a sibling site',
    refused: FORBIDDEN,
    run: fromElsewhere({ origin: 'https://evil.plainpath.example', 'sec-fetch-site': 'same-site' }),
  },
  {
    what: 'the button, pressed by a page without an origin',
    refused: FORBIDDEN,
    run: fromElsewhere({ origin: 'null', 'sec-fetch-site': 'cross-site' }),
  },
  {
    what: 'a form without the secret of the page',
    refused: FORBIDDEN,
    run: withFields((fields) => ({ ...fields, token: '' })),
  },
  {
    what: 'a form with the secret of another page',
    refused: FORBIDDEN,
    run: withFields(async (fields, scene) => {
      const { page } = await begin(scene)
      return { ...fields, token: findForm(page, BUTTONS.allow).fields['token'] ?? '' }
    }),
  },
  {
    what: 'the code before the address',
    refused: { at: 'page', status: 200, heading: 'Do you want to connect this app?' },
    async run(scene, isHostile) {
      if (!isHostile) return codeFrom(async () => '')(scene, false)
      const { code } = await begin(scene)
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
    refused: GONE,
    async run(scene, isHostile) {
      const begun = await begin(scene)
      if (isHostile) await begun.person.deny(begun.page)
      await scene.attack()
      return type(scene, begun, begun.code)
    },
  },
  {
    what: 'Deny instead of Allow',
    refused: { at: 'callback', error: 'access_denied' },
    async run(scene, isHostile) {
      const begun = await begin(scene)
      await scene.attack()
      return isHostile ? atCallback(await begun.person.deny(begun.page)) : type(scene, begun, begun.code)
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
      const given = await person.giveAddress(page)
      return scene.redeem(scene.app, authorization, await person.allow(given.page, given.code))
    },
  },
  {
    what: 'Allow a second time, with the back button',
    refused: GONE,
    async run(scene, isHostile) {
      const begun = await begin(scene)
      if (isHostile) await begun.person.allow(begun.page, begun.code)
      await scene.attack()
      return type(scene, begun, begun.code)
    },
  },
  {
    what: 'the code of one tab in the other',
    refused: ASKED_AGAIN,
    async run(scene, isHostile) {
      const person = scene.person()
      const first = await begin(scene, person)
      const second = await begin(scene, person)
      await scene.attack()
      return type(scene, first, isHostile ? second.code : first.code)
    },
  },
  {
    what: 'a fourth code',
    refused: { at: 'page', status: 410, heading: 'We cannot send more codes' },
    async run(scene, isHostile) {
      const begun = await begin(scene)
      let { page } = begun
      for (let more = 0; more < 2; more += 1) {
        await aMinuteLater(scene)
        page = await begun.person.browser.press(page, BUTTONS.again)
      }
      const codes = await begun.person.codes(3)
      await scene.attack()
      if (!isHostile) return type(scene, { ...begun, page }, codes.at(-1) ?? '')
      await aMinuteLater(scene)
      const { action, fields } = findForm(begun.page, BUTTONS.again)
      return atPage(await begun.person.browser.post(action, fields))
    },
  },
  {
    what: 'an address with a line end, to add addressees',
    refused: ASKED_AGAIN,
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
      const given = await person.giveAddress(page)
      return scene.redeem(scene.app, authorization, await person.allow(given.page, given.code))
    },
  },
  {
    what: 'a sign-in of before, in the same browser',
    refused: { at: 'page', status: 200, heading: 'Do you want to connect this app?' },
    async run(scene, isHostile) {
      const { person } = await begin(scene)
      await person.signIn(scene.app.authorize({ redirectUri: CLAUDE_URI }).url)
      await scene.attack()
      const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI })
      // Shows the page that asks for the address, and nothing of the sign-in before.
      if (isHostile) return atPage(await person.browser.open(authorization.url))
      return scene.redeem(scene.app, authorization, await person.signIn(authorization.url))
    },
  },
  {
    what: 'the code of a sign-in at the endpoint of agents',
    refused: { at: 'api', status: 409, error: 'code-not-shown' },
    async run(scene, isHostile) {
      const begun = await begin(scene)
      const agent = await scene.registerAgent()
      await postAs(scene.sender, agent, '/api/agent/claim', { email: begun.person.email })
      await scene.attack()
      if (!isHostile) return type(scene, begun, begun.code)
      return atApi(await postAs(scene.sender, agent, '/api/agent/claim/complete', { otp: begun.code }))
    },
  },
  {
    what: 'the code of a sign-in at the endpoint of agents, as the app',
    refused: { at: 'api', status: 401 },
    async run(scene, isHostile) {
      const begun = await begin(scene)
      await scene.attack()
      if (!isHostile) return type(scene, begun, begun.code)
      using sender = createSender(scene.origin)
      const sent = json({ otp: begun.code, client_id: scene.app.clientId })
      return atApi(await sender.send({ method: 'POST', path: '/api/agent/claim/complete', ...sent }))
    },
  },
]
