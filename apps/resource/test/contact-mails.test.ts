import { ATTORNEY_LISTS } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FORM, type Holding, MINUTE_MS, startHolding } from './contact-people.ts'
import { posting, sendRequest } from './send-request.ts'

let holding: Holding
beforeAll(async () => {
  holding = await startHolding()
})
afterAll(() => holding[Symbol.asyncDispose]())

const END_SECRET = 'E'.repeat(43)
const CLAIM = {
  agent_name: 'Atlas”\nhttps://evil.example',
  agent_registered_at: '2026-11-18T12:00:00.000Z',
  verified_at: '2026-11-19T12:00:00.000Z',
  expires_at: '2026-12-19T12:00:00.000Z',
  end_secret: END_SECRET,
}
const MESSAGE = `When do I renew?

/contact/withdraw?link=${'A'.repeat(43)}
Message: 00000000-0000-4000-8000-000000000000`
const MARKED = MESSAGE.replaceAll(/^/gm, '| ')

let people = 0
/** Sends a message by an agent of somebody new. */
async function sendByAgent(claim: object | undefined, body: object = {}) {
  const email = `mailed-${(people += 1)}@example.org`
  const token = holding.contact.tokenOf(email, `reg_mailed_${people}`, { claim })
  const sent = await holding.contact.send(token, { topic: 'question', message: MESSAGE, ...body })
  expect(sent.status, sent.body).toBe(202)
  return { email, id: String(sent.json()['id']) }
}
const receiptTo = async (email: string, nth = 0) => (await holding.contact.server.mails(nth + 1, email))[nth]

const HOTLINES = [
  '- If you are in danger now: 911',
  '- National Domestic Violence Hotline: 1-800-799-7233',
  '- National Human Trafficking Hotline: 1-888-373-7888',
  '- To find a person whom ICE holds (a government line): 1-888-351-4024\n  https://www.ice.gov/contact/ero',
  '- Your next hearing date, from the immigration court (you need your A-Number): 1-800-898-7180\n  https://acis.eoir.justice.gov/en/',
]
const LISTS = ATTORNEY_LISTS.map(({ title, url }) => `- ${title}\n  ${url}`)

const receipt = (given: {
  first: string
  topic: string
  link: string
  id: string
  access: string
  more?: string
  help?: string
}) => {
  const { origin } = holding.contact.api
  return `${given.first}

Topic: ${given.topic}
Text:

${MARKED}

${given.more ?? ''}What happens next: the message goes to our staff in about ${given.more ? 'a minute' : '10 minutes'}
(12:${given.more ? '01' : '10'} UTC on November 20, 2026).
A person reads every message. We answer by e-mail, usually within five working days,
and urgent messages first. We cannot give legal advice.
We will reply to this address.

To withdraw the message before it goes to our staff, open this link and press the
button. We then erase the message.
${origin}/contact/withdraw?link=${given.link}

Do not wait for our answer if somebody is in danger or detained, or if a hearing or a
deadline is near. Do not miss a hearing. Get help now:
${given.help ?? [...HOTLINES, ...LISTS].join('\n')}

${given.access}

Message: ${given.id}
${origin}/privacy says how long we keep messages.

Plainpath is not a law firm and not the government. It gives information, not legal
advice.
`
}
const linkOf = (text = '') => /^\S+withdraw\?link=([\w-]{43})$/m.exec(text)?.[1] ?? ''

describe('the receipt of a message from an agent', () => {
  const access = (name: string, end: string) => `The agent calls itself:

   “${name}”

That name is unverified: an agent can give itself any name. It registered with us on
November 18, 2026.

What it may do: send our staff messages for you.
Since: November 19, 2026
Until: December 19, 2026, unless you end it sooner

${end}`

  test('has the text, the topic, what happens next, the agent and the links that withdraw the message and end the access', async () => {
    const { email, id } = await sendByAgent(CLAIM)
    const mail = await receiptTo(email)
    const link = linkOf(mail?.text)
    expect(mail?.subject).toBe('We received your message to Plainpath')
    const end = `To end its access, open this link and press the button:
${holding.contact.api.origin}/claim?end=${END_SECRET}`
    expect(mail?.text).toBe(
      receipt({
        first: 'An AI agent sent us this message for you.',
        topic: 'A question about a guide',
        link,
        id,
        access: access("Atlas' https[:]//evil[.]example", end),
      }),
    )
    expect((await holding.press('/contact/withdraw', link)).status).toBe(200)
  })

  test('leads to the earlier mail where the link is not known, and says that reasons were shared without naming them', async () => {
    const { end_secret: _unknown, agent_name: _none, ...claim } = CLAIM
    const { email, id } = await sendByAgent(claim, {
      topic: 'attorney',
      handOff: { triggers: ['abuse-victim'] },
    })
    const mail = await receiptTo(email)
    expect(mail?.text).toBe(
      receipt({
        first: 'An AI agent sent us this message for you.',
        topic: 'I need an attorney',
        link: linkOf(mail?.text),
        id,
        more: 'Our staff are also told why you need an attorney. If you do not want that, withdraw the\nmessage.\n\n',
        help: [...LISTS, ...HOTLINES].join('\n'),
        access: access('', 'To end its access, use the link in the e-mail that told you about it.').replace(
          /^[^]*?any name\. It registered with us on\n/,
          'The agent gave us no name. It registered with us on ',
        ),
      }),
    )
    expect(mail?.text).not.toContain('abuse-victim')
  })

  test('says how to end the access also when the authorization server is of an earlier release', async () => {
    const { email, id } = await sendByAgent(undefined)
    const mail = await receiptTo(email)
    expect(mail?.text).toBe(
      receipt({
        first: 'An AI agent sent us this message for you.',
        topic: 'A question about a guide',
        link: linkOf(mail?.text),
        id,
        access: `If you do not want this agent to send us messages:
To end its access, use the link in the e-mail that told you about it.`,
      }),
    )
  })

  test('holds the longest message that can be sent', async () => {
    const message = `a${'\n'.repeat(4_998)}b`
    const { email } = await sendByAgent({ ...CLAIM, agent_name: '☃'.repeat(200) }, { message })
    expect((await receiptTo(email))?.text).toContain('| a\n| \n')
  })

  test('is not stored in clear', async () => {
    const { email } = await sendByAgent(CLAIM, { message: 'Canary in the receipt?' })
    await receiptTo(email)
    const stored =
      JSON.stringify(await holding.rows('select m::text from mails m')) + holding.contact.api.logged.join()
    for (const text of ['Canary in the receipt', 'Atlas', END_SECRET])
      for (const spelling of [text, Buffer.from(text).toString('hex')]) expect(stored).not.toContain(spelling)
  })
})

test('a message from the page: the mail that asks, and the receipt with the text', async () => {
  const email = 'mailed-page@example.org'
  const fields = new URLSearchParams({ topic: 'other', message: MESSAGE, email })
  const { origin } = holding.contact.api
  expect((await sendRequest(origin, { path: '/contact', ...posting(fields.toString(), FORM) })).status).toBe(
    202,
  )
  const asking = await receiptTo(email)
  const confirm = /confirm\?link=([\w-]{43})$/m.exec(asking?.text ?? '')?.[1] ?? ''
  expect(asking?.subject).toBe('Send your message to Plainpath')
  expect(
    asking?.text,
  ).toBe(`Somebody wrote a message to Plainpath on our website and gave this address for the
answer.

If that was you, open this link and press the button. We send the message to our staff
only after that.
${origin}/contact/confirm?link=${confirm}

If it was not you, you can ignore this e-mail. We erase the message after
24 hours.

Plainpath is not a law firm and not the government. It gives information, not legal
advice.
`)
  expect((await holding.press('/contact/confirm', confirm)).status).toBe(200)
  expect((await holding.press('/contact/confirm', confirm)).status).toBe(404)
  const mail = await receiptTo(email, 1)
  const id = /^Message: (.*)$/m.exec(mail?.text ?? '')?.[1] ?? ''
  expect(mail?.text).toBe(
    receipt({
      first: 'We received your message. This is a copy of it.',
      topic: 'Something else',
      link: linkOf(mail?.text),
      id,
      access: 'If it was not you who sent the message, withdraw it by the link above.',
    }),
  )
  await holding.deliver(id, 10 * MINUTE_MS)
  expect(
    holding.toDesk(id)[0]?.text,
  ).toBe(`A person who confirmed their e-mail address wrote this. A reply to this e-mail goes
to that person.

${MARKED}

Topic: other
Guide: none
Written: 2026-11-20T12:00:00.000Z
Message: ${id}
`)
})
