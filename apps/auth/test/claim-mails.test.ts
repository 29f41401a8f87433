import { formatLongDate } from '@plainpath/pages'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deleteAgent, register } from './agent-client.ts'
import {
  begin,
  type ClaimsUnderTest,
  confirmed,
  endClaim,
  headingIn,
  newAddress,
  openClaimPage,
  pressButton,
  sayNo,
  secretIn,
  startClaims,
} from './claim-client.ts'
import { requestAssertion } from './claim-mailbox.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { expectProblem } from './expect-refusal.ts'
import { runAuth } from './run-auth.ts'
import { ORIGIN } from './start-auth.ts'

const DAYS_30_MS = 30 * 24 * 60 * 60_000
const NO_LAW_FIRM = `Plainpath is not a law firm and not the government. It gives information, not legal
advice.
`
const HOSTILE = 'Atlas”. Call https://evil.example or help@evil.example'
const DEFUSED = "Atlas'. Call https[:]//evil[.]example or help[@]evil[.]example"

let under: ClaimsUnderTest
beforeAll(async () => {
  under = await startClaims()
})
afterAll(async () => {
  await expectNothingInClear(under.auth)
  await under[Symbol.asyncDispose]()
})

const describeAgent = (name: string, registered: string) => `The agent calls itself:

   “${name}”

That name is unverified: an agent can give itself any name. It registered with us on
${registered}.`

/** Counts the queued mails that tell people of the ends of an agent's claims. */
const endMailsOf = async (agentId: string) => {
  const { rows } = await under.stores.db.query(
    `select id from mails where kind = 'claim-ended' and about in (select id from claims where agent_id = $1)`,
    [agentId],
  )
  return rows.length
}
const endLink = async (email: string) => secretIn((await under.mail.mails(2, email))[1]?.text ?? '')

test('the verification mail contains no text of the agent, and says what to do and what follows', async () => {
  const agent = await register(under.auth, HOSTILE)
  const { email, phrase, secret } = await begin(under, { agent })
  const [mail] = await under.mail.mails(1, email)
  expect(mail?.subject).toBe('Did you ask an AI agent to use Plainpath for you?')
  expect(
    mail?.text,
  ).toBe(`Plainpath is a website with plain-English guides to U.S. immigration: ${under.auth.origin}

An AI agent gave us this address. It says that it acts for you, and it wants to send
our staff messages for you.

If you want that:

1. Look at what your agent shows you. It must show these two words:

   ${phrase}

   If your agent shows other words, or none, do not press Yes.

2. Open this link. The page says what we know of the agent. If it is your agent,
   press "Yes". You get a code. Give the code to your agent, and to nobody else.

   ${under.auth.origin}/claim?attempt=${secret}

The agent can then send our staff messages for you for 30 days. We answer by
e-mail to this address. You can end the agent's access at any time.

The link works for 24 hours.

If you did not ask for this, you can ignore this e-mail: the agent gets no access. To
stop e-mails like this one for 30 days, open the link and press "No". An agent
that already has your permission can still ask you again.

${NO_LAW_FIRM}`)
})

test('the mails about the access of an agent name it safely, and say what it may do, since when, and how to end it', async () => {
  const { auth, clock } = under
  const { agent, email } = await confirmed(under, { agent: await register(auth, HOSTILE) })
  const [since, until] = [
    formatLongDate(clock.now),
    formatLongDate(new Date(clock.now.getTime() + DAYS_30_MS)),
  ]
  const end = await endLink(email)
  auth.confidential.add(end)
  const [, told] = await under.mail.mails(2, email)
  expect(told?.subject).toBe('An AI agent can now send us messages for you')
  expect(
    told?.text,
  ).toBe(`An AI agent used the code from our page. It can now send our staff messages for you.

${describeAgent(DEFUSED, since)}

What it may do: send our staff messages for you. We answer by e-mail to this address.
Since: ${since}
Until: ${until}, unless you end it sooner

To end its access, open this link and press the button:

   ${auth.origin}/claim?end=${end}

If you did not give anyone a code, end it now.

Messages that it sent before you end its access are kept as described at
${auth.origin}/privacy

${NO_LAW_FIRM}`)

  const ended = await pressButton(auth, { end })
  expect([ended.status, headingIn(ended.text)]).toEqual([200, 'The access has ended'])
  expect(ended.text).toContain('use the link in its receipt')
  const [, , confirmation] = await under.mail.mails(3, email)
  expect(confirmation?.subject).toBe('An AI agent can no longer send us messages for you')
  expect(confirmation?.text).toBe(`You ended an AI agent's access to Plainpath.
It can no longer send us messages for you.

${describeAgent(DEFUSED, since)}

It had access on ${since}.
We have erased your address from its registration. With messages that it sent for you,
we keep your address until 90 days after our staff get them.

Did the agent send messages for you before? If our staff have not answered them yet,
the answers still come, by e-mail to this address. To withdraw a message that has not
gone to our staff, use the link in its receipt.

You do not need to do anything.

${NO_LAW_FIRM}`)

  for (const used of [await openClaimPage(auth, { end }), await pressButton(auth, { end })]) {
    expect([used.status, headingIn(used.text)]).toEqual([410, 'This has already ended'])
    expect(used.text).toContain('<p>This agent or app no longer has access to send us messages for you. ')
    expect(used.text).not.toMatch(/<form[^>]*method="post"/)
  }
  expect(await endMailsOf(agent.client_id)).toBe(1)
})

describe('a person gets one mail when', () => {
  test.for([
    {
      why: 'the agent ends its claim',
      end: ({ agent }: Confirmed) => endClaim(under.auth, agent),
      says: 'An AI agent gave up its access to Plainpath for you.',
    },
    {
      why: 'the agent deletes its registration',
      end: ({ agent }: Confirmed) => deleteAgent(under.auth, agent),
      says: 'The registration of an AI agent that had access to Plainpath for you was deleted.',
    },
    {
      why: 'staff revoke the claim',
      end: async ({ registrationId }: Confirmed) =>
        runAuth(
          ['claims', 'revoke', registrationId],
          await under.stores.settingsFor(ORIGIN),
          () => under.clock.now,
        ),
      says: "Our staff ended an AI agent's access to Plainpath for you.",
    },
    {
      why: 'the person says no to another request of the agent',
      end: async ({ agent, email }: Confirmed) => sayNo(under.auth, await begin(under, { agent, email })),
      says: "You ended an AI agent's access to Plainpath.",
    },
  ])('$why', async ({ end, says }) => {
    const agent = await register(under.auth, 'Atlas the helper')
    const claim = await confirmed(under, { agent })
    await end(claim)
    const ends = () =>
      under.mail.received.filter(
        ({ to, subject }) => to.includes(claim.email) && subject.startsWith('An AI agent can no longer'),
      )
    await expect.poll(ends).toHaveLength(1)
    expect(ends()[0]?.text.startsWith(`${says}\n`)).toBe(true)
    expect(ends()[0]?.text).toContain('\n   “Atlas the helper”\n')
    await endClaim(under.auth, agent)
    expect(await endMailsOf(agent.client_id)).toBe(1)
  })

  test('the person, the agent and the deletion end the access simultaneously, at two instances', async () => {
    await using there = await under.another()
    const { agent, email } = await confirmed(under)
    const end = await endLink(email)
    await Promise.all([
      ...[under.auth, there].map((at) => pressButton(at, { end })),
      endClaim(under.auth, agent),
      deleteAgent(there, agent),
    ])
    expect(await endMailsOf(agent.client_id)).toBe(1)
    const [, , mail] = await under.mail.mails(3, email)
    expect(mail?.subject).toBe('An AI agent can no longer send us messages for you')
  })
})
type Confirmed = Awaited<ReturnType<typeof confirmed>>

test('the link of one claim does not end a later one, and says that its own has ended', async () => {
  const email = newAddress()
  const first = await confirmed(under, { email })
  const end = await endLink(email)
  await confirmed(under, { email, agent: first.agent })
  const used = await pressButton(under.auth, { end })
  expect([used.status, headingIn(used.text)]).toEqual([410, 'This has already ended'])
  expect((await requestAssertion(under.auth, first.agent)).status).toBe(200)
})

test('an agent whose confirmation has ended learns that, and is asked not to ask again; others learn nothing', async () => {
  const { auth } = under
  const { agent, email } = await confirmed(under)
  await pressButton(auth, { end: await endLink(email) })
  const refusal = { status: 409, code: 'no-claim', error: 'no_claim', form: 'agent' } as const
  const refused = await requestAssertion(auth, agent)
  expectProblem(refused, { ...refusal, says: /has ended.*Do not ask the person again on your own/ })
  expect(refused.text).not.toMatch(/person ended|ended by/)
  const stranger = await register(auth)
  expectProblem(await requestAssertion(auth, stranger), { ...refusal, says: /No person has confirmed/ })
  const guessing = { ...agent, client_secret: stranger.client_secret }
  expect((await requestAssertion(auth, guessing)).status).toBe(401)
})

test('the page behind the first link offers a new code after it has shown one', async () => {
  const { secret } = await begin(under)
  const button = async () =>
    /value="yes">([^<]*)</.exec((await openClaimPage(under.auth, { attempt: secret })).text)?.[1]
  expect(await button()).toBe('Yes, my agent shows the same words: show my code')
  const shown = await pressButton(under.auth, { attempt: secret, answer: 'yes' })
  expect(shown.text).toContain('value="yes">Show a new code<')
  expect(await button()).toBe('Show a new code')
})
