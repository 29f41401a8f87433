import { formatLongDate } from '@plainpath/pages'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requestAssertion } from './add-verification.ts'
import { deleteAgent, register } from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { expectProblem } from './expect-refusal.ts'
import { runAuth } from './run-auth.ts'
import { ORIGIN } from './start-auth.ts'
import {
  type Attempt,
  beginVerification,
  confirmAgent,
  createAddress,
  findHeading,
  findLinkSecret,
  openClaimPage,
  pressButton,
  revokeVerification,
  sayNo,
  startVerificationSystem,
  type VerificationSystem,
} from './verification-client.ts'

const THIRTY_DAYS_MS = 30 * 24 * 60 * 60_000
const DISCLAIMER = `Plainpath is not a law firm and not the government. It gives information, not legal
advice.
`
/** A name that would add a link and an address to a mail. `SAFE_NAME` is the same name in the form that a mail shows. */
const HOSTILE_NAME = 'Atlas”. Call https://evil.example or help@evil.example'
const SAFE_NAME = "Atlas'. Call https[:]//evil[.]example or help[@]evil[.]example"

let system: VerificationSystem
beforeAll(async () => {
  system = await startVerificationSystem()
})
afterAll(async () => {
  await expectNoConfidentialValues(system.auth)
  await system[Symbol.asyncDispose]()
})

const describeAgent = (name: string, registrationDate: string) => `The agent calls itself:

   “${name}”

That name is unverified: an agent can give itself any name. It registered with us on
${registrationDate}.`

/** Counts the mails, queued or sent, that report the end of a verification of the agent. */
const countEndMails = async (agentId: string) => {
  const { rows } = await system.testbed.db.query(
    `select id from mails where kind = 'claim-ended' and about in (select id from claims where agent_id = $1)`,
    [agentId],
  )
  return rows.length
}
/** Waits for the second mail to an address, and finds the secret of its link that ends the agent's access. */
const findEndSecret = async (email: string) =>
  findLinkSecret((await system.mailServer.waitForMails(2, email))[1]?.text ?? '')

test('the verification mail has this exact text, without the name of the agent', async () => {
  const agent = await register(system.auth, HOSTILE_NAME)
  const { email, phrase, secret } = await beginVerification(system, { agent })
  const [mail] = await system.mailServer.waitForMails(1, email)
  expect(mail?.subject).toBe('Did you ask an AI agent to use Plainpath for you?')
  expect(
    mail?.text,
  ).toBe(`Plainpath is a website with plain-English guides to U.S. immigration: ${system.auth.origin}

An AI agent gave us this address. It says that it acts for you, and it wants to send
our staff messages for you.

If you want that:

1. Look at what your agent shows you. It must show these two words:

   ${phrase}

   If your agent shows other words, or none, do not press Yes.

2. Open this link. The page says what we know of the agent. If it is your agent,
   press "Yes". You get a code. Give the code to your agent, and to nobody else.

   ${system.auth.origin}/claim?attempt=${secret}

The agent can then send our staff messages for you for 30 days. We answer by
e-mail to this address. You can end the agent's access at any time.

The link works for 24 hours.

If you did not ask for this, you can ignore this e-mail: the agent gets no access. To
stop e-mails like this one for 30 days, open the link and press "No". An agent
that already has your permission can still ask you again.

${DISCLAIMER}`)
})

test('the mails about an agent’s access have these exact texts, in which its name contains no link, and the link to end the access works once', async () => {
  const { auth, clock } = system
  const { agent, email } = await confirmAgent(system, { agent: await register(auth, HOSTILE_NAME) })
  const since = formatLongDate(clock.now)
  const until = formatLongDate(new Date(clock.now.getTime() + THIRTY_DAYS_MS))
  const end = await findEndSecret(email)
  auth.confidential.add(end)
  const [, confirmationMail] = await system.mailServer.waitForMails(2, email)
  expect(confirmationMail?.subject).toBe('An AI agent can now send us messages for you')
  expect(
    confirmationMail?.text,
  ).toBe(`An AI agent used the code from our page. It can now send our staff messages for you.

${describeAgent(SAFE_NAME, since)}

What it may do: send our staff messages for you. We answer by e-mail to this address.
Since: ${since}
Until: ${until}, unless you end it sooner

To end its access, open this link and press the button:

   ${auth.origin}/claim?end=${end}

If you did not give anyone a code, end it now.

Messages that it sent before you end its access are kept as described at
${auth.origin}/privacy

${DISCLAIMER}`)

  const endedPage = await pressButton(auth, { end })
  expect([endedPage.status, findHeading(endedPage.text)]).toEqual([200, 'The access has ended'])
  expect(endedPage.text).toContain('use the link in its receipt')
  const [, , endMail] = await system.mailServer.waitForMails(3, email)
  expect(endMail?.subject).toBe('An AI agent can no longer send us messages for you')
  expect(endMail?.text).toBe(`You ended an AI agent's access to Plainpath.
It can no longer send us messages for you.

${describeAgent(SAFE_NAME, since)}

It had access on ${since}.
We have erased your address from its registration. With messages that it sent for you,
we keep your address until 90 days after our staff get them.

Did the agent send messages for you before? If our staff have not answered them yet,
the answers still come, by e-mail to this address. To withdraw a message that has not
gone to our staff, use the link in its receipt.

You do not need to do anything.

${DISCLAIMER}`)

  const pageOfLink = await openClaimPage(auth, { end })
  expect(pageOfLink.text).toMatch(/<form[^>]*method="post"/)
  const repeatedPage = await pressButton(auth, { end })
  expect(repeatedPage.text).not.toMatch(/<form[^>]*method="post"/)
  for (const page of [pageOfLink, repeatedPage]) {
    expect([page.status, findHeading(page.text)]).toEqual([410, 'This has already ended'])
    expect(page.text).toContain('<p>This agent or app no longer has access to send us messages for you. ')
  }
  expect(await countEndMails(agent.client_id)).toBe(1)
})

describe('a person gets one mail when', () => {
  test.for([
    {
      cause: 'the agent revokes its verification',
      endAccess: ({ agent }: Attempt) => revokeVerification(system.auth, agent),
      says: 'An AI agent gave up its access to Plainpath for you.',
    },
    {
      cause: 'the agent deletes its registration',
      endAccess: ({ agent }: Attempt) => deleteAgent(system.auth, agent),
      says: 'The registration of an AI agent that had access to Plainpath for you was deleted.',
    },
    {
      cause: 'staff revoke the verification',
      endAccess: async ({ registrationId }: Attempt) =>
        runAuth(
          ['claims', 'revoke', registrationId],
          await system.testbed.createSettings(ORIGIN),
          () => system.clock.now,
        ),
      says: "Our staff ended an AI agent's access to Plainpath for you.",
    },
    {
      cause: 'the person says no to another request of the agent',
      endAccess: async ({ agent, email }: Attempt) =>
        sayNo(system.auth, await beginVerification(system, { agent, email })),
      says: "You ended an AI agent's access to Plainpath.",
    },
  ])('$cause', async ({ endAccess, says }) => {
    const agent = await register(system.auth, 'Atlas the helper')
    const verification = await confirmAgent(system, { agent })
    await endAccess(verification)
    const findEndMails = () =>
      system.mailServer.received.filter(
        ({ to, subject }) =>
          to.includes(verification.email) && subject.startsWith('An AI agent can no longer'),
      )
    await expect.poll(findEndMails).toHaveLength(1)
    expect(findEndMails()[0]?.text.startsWith(`${says}\n`)).toBe(true)
    expect(findEndMails()[0]?.text).toContain('\n   “Atlas the helper”\n')
    await revokeVerification(system.auth, agent)
    expect(await countEndMails(agent.client_id)).toBe(1)
  })

  test('the person, the agent and a deletion end the access simultaneously, at two instances', async () => {
    await using otherInstance = await system.startAnother()
    const { agent, email } = await confirmAgent(system)
    const end = await findEndSecret(email)
    await Promise.all([
      ...[system.auth, otherInstance].map((auth) => pressButton(auth, { end })),
      revokeVerification(system.auth, agent),
      deleteAgent(otherInstance, agent),
    ])
    expect(await countEndMails(agent.client_id)).toBe(1)
    const [, , mail] = await system.mailServer.waitForMails(3, email)
    expect(mail?.subject).toBe('An AI agent can no longer send us messages for you')
  })
})

test('the link that ends a replaced verification says that it has ended, and does not end the new one', async () => {
  const email = createAddress()
  const firstAttempt = await confirmAgent(system, { email })
  const end = await findEndSecret(email)
  await confirmAgent(system, { email, agent: firstAttempt.agent })
  const page = await pressButton(system.auth, { end })
  expect([page.status, findHeading(page.text)]).toEqual([410, 'This has already ended'])
  expect((await requestAssertion(system.auth, firstAttempt.agent)).status).toBe(200)
})

test('the response tells an agent that its verification has ended and that it must not ask again on its own; other clients learn nothing', async () => {
  const { auth } = system
  const { agent, email } = await confirmAgent(system)
  await pressButton(auth, { end: await findEndSecret(email) })
  const noVerification = { status: 409, code: 'no-claim', error: 'no_claim', errorFormat: 'agent' } as const
  const refusal = await requestAssertion(auth, agent)
  expectProblem(refusal, { ...noVerification, says: /has ended.*Do not ask the person again on your own/ })
  expect(refusal.text).not.toMatch(/person ended|ended by/)
  const stranger = await register(auth)
  expectProblem(await requestAssertion(auth, stranger), {
    ...noVerification,
    says: /No person has confirmed/,
  })
  const wrongSecret = { ...agent, client_secret: stranger.client_secret }
  expect((await requestAssertion(auth, wrongSecret)).status).toBe(401)
})

test('the page of the verification link offers a new code after it has shown one', async () => {
  const { secret } = await beginVerification(system)
  const readButton = async () =>
    /value="yes">([^<]*)</.exec((await openClaimPage(system.auth, { attempt: secret })).text)?.[1]
  expect(await readButton()).toBe('Yes, my agent shows the same words: show my code')
  const page = await pressButton(system.auth, { attempt: secret, answer: 'yes' })
  expect(page.text).toContain('value="yes">Show a new code<')
  expect(await readButton()).toBe('Show a new code')
})
