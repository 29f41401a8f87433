import { ATTORNEY_LISTS } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FORM_HEADERS, type HoldFixture, MINUTE_MS, startHoldFixture } from './hold-fixture.ts'
import { createPost, sendRequest } from './send-request.ts'

let fixture: HoldFixture
beforeAll(async () => {
  fixture = await startHoldFixture()
})
afterAll(() => fixture[Symbol.asyncDispose]())

const END_SECRET = 'E'.repeat(43)
/** What an introspection says about the agent. The name tries to break out of its quotes, and to add a link to the mail. */
const CLAIM = {
  agent_name: 'Atlas”\nhttps://evil.example',
  agent_registered_at: '2026-11-18T12:00:00.000Z',
  verified_at: '2026-11-19T12:00:00.000Z',
  expires_at: '2026-12-19T12:00:00.000Z',
  end_secret: END_SECRET,
}
/** A message that imitates the link and the id of a receipt. A mail marks each of its lines, so that they are not mistaken. */
const MESSAGE = `When do I renew?

/contact/withdraw?link=${'A'.repeat(43)}
Message: 00000000-0000-4000-8000-000000000000`
const MARKED_MESSAGE = MESSAGE.replaceAll(/^/gm, '| ')

let personCount = 0
/** Sends a message for a new person, as an agent does. @param claim what the introspection says about the agent */
async function sendByAgent(claim: object | undefined, body: object = {}) {
  const email = `mailed-${(personCount += 1)}@example.org`
  const token = fixture.contact.issueToken(email, `reg_mailed_${personCount}`, { claim })
  const response = await fixture.contact.send(token, { topic: 'question', message: MESSAGE, ...body })
  expect(response.status, response.body).toBe(202)
  return { email, id: String(response.json()['id']) }
}
/** Waits for the mails to an address. Returns the one at this index, which is the first by default. */
const waitForMail = async (email: string, index = 0) =>
  (await fixture.contact.mailServer.waitForMails(index + 1, email))[index]

const HOTLINE_LINES = [
  '- If you are in danger now: 911',
  '- 988 Suicide & Crisis Lifeline (call or text): 988',
  '- National Domestic Violence Hotline: 1-800-799-7233',
  '- National Human Trafficking Hotline: 1-888-373-7888',
  '- To find a person whom ICE holds (a government line): 1-888-351-4024\n  https://www.ice.gov/contact/ero',
  '- Your next hearing date, from the immigration court (you need your A-Number): 1-800-898-7180\n  https://acis.eoir.justice.gov/en/',
]
const LIST_LINES = ATTORNEY_LISTS.map(({ title, url }) => `- ${title}\n  ${url}`)

/** Composes the text that a receipt must have. A message with a hand-off note is held for a minute, any other for ten. */
const composeReceipt = (parts: {
  opening: string
  topic: string
  link: string
  id: string
  access: string
  handOffNote?: string
  help?: string
}) => {
  const { origin } = fixture.contact.api
  return `${parts.opening}

Topic: ${parts.topic}
Text:

${MARKED_MESSAGE}

${parts.handOffNote ?? ''}What happens next: the message goes to our staff in about ${parts.handOffNote ? 'a minute' : '10 minutes'}
(12:${parts.handOffNote ? '01' : '10'} UTC on November 20, 2026).
A person reads every message. We answer by e-mail, usually within five working days,
and urgent messages first. We cannot give legal advice.
We will reply to this address.

To withdraw the message before it goes to our staff, open this link and press the
button. We then erase the message.
${origin}/contact/withdraw?link=${parts.link}

Do not wait for our answer if somebody is in danger or detained, or if a hearing or a
deadline is near. Do not miss a hearing. Get help now:
${parts.help ?? [...HOTLINE_LINES, ...LIST_LINES].join('\n')}

${parts.access}

Message: ${parts.id}
${origin}/privacy says how long we keep messages.

Plainpath is not a law firm and not the government. It gives information, not legal
advice.
`
}
const findWithdrawLink = (text = '') => /^\S+withdraw\?link=([\w-]{43})$/m.exec(text)?.[1] ?? ''

describe('the receipt of a message from an agent', () => {
  /** Composes the part of a receipt about the agent. @param howToEnd how the person can end the agent's access */
  const composeAccessPart = (name: string, howToEnd: string) => `The agent calls itself:

   “${name}”

That name is unverified: an agent can give itself any name. It registered with us on
November 18, 2026.

What it may do: send our staff messages for you.
Since: November 19, 2026
Until: December 19, 2026, unless you end it sooner

${howToEnd}`

  test('has the text, the agent, and the links that withdraw the message and end the access', async () => {
    const { email, id } = await sendByAgent(CLAIM)
    const mail = await waitForMail(email)
    const link = findWithdrawLink(mail?.text)
    expect(mail?.subject).toBe('We received your message to Plainpath')
    const howToEnd = `To end its access, open this link and press the button:
${fixture.contact.api.origin}/claim?end=${END_SECRET}`
    expect(mail?.text).toBe(
      composeReceipt({
        opening: 'An AI agent sent us this message for you.',
        topic: 'A question about a guide',
        link,
        id,
        access: composeAccessPart("Atlas' https[:]//evil[.]example", howToEnd),
      }),
    )
    expect((await fixture.press('/contact/withdraw', link)).status).toBe(200)
  })

  test('refers to the earlier mail if the link to end the access is unknown, and does not name the shared reasons', async () => {
    const { end_secret: _unknown, agent_name: _none, ...claim } = CLAIM
    const { email, id } = await sendByAgent(claim, {
      topic: 'attorney',
      handOff: { triggers: ['abuse-victim'] },
    })
    const mail = await waitForMail(email)
    expect(mail?.text).toBe(
      composeReceipt({
        opening: 'An AI agent sent us this message for you.',
        topic: 'I need an attorney',
        link: findWithdrawLink(mail?.text),
        id,
        handOffNote:
          'Our staff are also told why you need an attorney. If you do not want that, withdraw the\nmessage.\n\n',
        help: [...LIST_LINES, ...HOTLINE_LINES].join('\n'),
        // For an agent without a name, one sentence replaces everything up to the date of its registration.
        access: composeAccessPart(
          '',
          'To end its access, use the link in the e-mail that told you about it.',
        ).replace(
          /^[^]*?any name\. It registered with us on\n/,
          'The agent gave us no name. It registered with us on ',
        ),
      }),
    )
    expect(mail?.text).not.toContain('abuse-victim')
  })

  test('says how to end the access even if the introspection has nothing about the agent', async () => {
    const { email, id } = await sendByAgent(undefined)
    const mail = await waitForMail(email)
    expect(mail?.text).toBe(
      composeReceipt({
        opening: 'An AI agent sent us this message for you.',
        topic: 'A question about a guide',
        link: findWithdrawLink(mail?.text),
        id,
        access: `If you do not want this agent to send us messages:
To end its access, use the link in the e-mail that told you about it.`,
      }),
    )
  })

  test('can contain the longest message', async () => {
    // The maximum of 5,000 characters, with a mark for each line break, and the longest name, in characters of three bytes.
    const message = `a${'\n'.repeat(4_998)}b`
    const { email } = await sendByAgent({ ...CLAIM, agent_name: '☃'.repeat(200) }, { message })
    expect((await waitForMail(email))?.text).toContain('| a\n| \n')
  })

  test('is not stored or logged in plaintext', async () => {
    const { email } = await sendByAgent(CLAIM, { message: 'Canary in the receipt?' })
    await waitForMail(email)
    const storedAndLogged =
      JSON.stringify(await fixture.queryRows('select m::text from mails m')) +
      fixture.contact.api.logLines.join()
    for (const text of ['Canary in the receipt', 'Atlas', END_SECRET])
      for (const spelling of [text, Buffer.from(text).toString('hex')])
        expect(storedAndLogged).not.toContain(spelling)
  })
})

test('a message from the contact form causes a confirmation mail, a receipt with its text, and a mail to staff', async () => {
  const email = 'mailed-page@example.org'
  const fields = new URLSearchParams({ topic: 'other', message: MESSAGE, email })
  const { origin } = fixture.contact.api
  expect(
    (await sendRequest(origin, { path: '/contact', ...createPost(fields.toString(), FORM_HEADERS) })).status,
  ).toBe(202)
  const confirmationMail = await waitForMail(email)
  const confirmLink = /confirm\?link=([\w-]{43})$/m.exec(confirmationMail?.text ?? '')?.[1] ?? ''
  expect(confirmationMail?.subject).toBe('Send your message to Plainpath')
  expect(
    confirmationMail?.text,
  ).toBe(`Somebody wrote a message to Plainpath on our website and gave this address for the
answer.

If that was you, open this link and press the button. We send the message to our staff
only after that.
${origin}/contact/confirm?link=${confirmLink}

If it was not you, you can ignore this e-mail. We erase the message after
24 hours.

Plainpath is not a law firm and not the government. It gives information, not legal
advice.
`)
  expect((await fixture.press('/contact/confirm', confirmLink)).status).toBe(200)
  expect((await fixture.press('/contact/confirm', confirmLink)).status).toBe(404)
  const mail = await waitForMail(email, 1)
  const id = /^Message: (.*)$/m.exec(mail?.text ?? '')?.[1] ?? ''
  expect(mail?.text).toBe(
    composeReceipt({
      opening: 'We received your message. This is a copy of it.',
      topic: 'Something else',
      link: findWithdrawLink(mail?.text),
      id,
      access: 'If it was not you who sent the message, withdraw it by the link above.',
    }),
  )
  await fixture.deliver(id, 10 * MINUTE_MS)
  expect(
    fixture.findStaffMails(id)[0]?.text,
  ).toBe(`A person who confirmed their e-mail address wrote this. A reply to this e-mail goes
to that person.

${MARKED_MESSAGE}

Topic: other
Guide: none
Written: 2026-11-20T12:00:00.000Z
Message: ${id}
`)
})
