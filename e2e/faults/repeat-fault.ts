import { randomUUID } from 'node:crypto'
import { waitUntil } from '@plainpath/stack/managed-process'
import { lendMailboxTo, STAFF_INBOX } from '../lend-mailbox-to.ts'
import { basic, createSender, form, type HttpResponse, json, type Sender } from '../send.ts'
import { identifyMail } from '../system/mail-load.ts'
import { type FaultCase, repeatedFault } from './fault-case.ts'
import { sentAsSeveral } from './faulty-mail-server.ts'
import type { FaultyStack } from './faulty-stack.ts'
import { ownAgent, ownToken } from './own-agent.ts'

const TIMES = 3
const MAILED_MS = 60_000

/** Sends each request several times at once, like clients and proxies that repeat a request that seems lost. */
export function deliveredTwice(): FaultCase {
  let sender: Sender
  let token = ''
  let mailsBefore = 0
  let keptBefore = 0
  /** The mails that should follow once, as `identifyMail` names them. */
  let mails: string[] = []
  let messages = 0
  let wrong: string[] = []

  /** Sends one request several times at once, and returns the responses. */
  async function several(sent: { path: string; headers: Record<string, string>; body: string }) {
    const responses = Array.from({ length: TIMES }, () => sender.send({ method: 'POST', ...sent }))
    return Promise.all(responses)
  }
  async function message(): Promise<void> {
    const sent = json({ topic: 'question', message: 'May I renew it from abroad?' })
    const own = { authorization: `Bearer ${token}`, 'idempotency-key': randomUUID() }
    const request = { path: '/api/contact', ...sent, headers: { ...sent.headers, ...own } }
    const responses = await several(request)
    responses.push(...(await untilTaken(() => sender.send({ method: 'POST', ...request }))))
    expectOnly(responses, [202, 409])
    const ids = new Set(responses.filter(({ status }) => status === 202).map(parseId))
    messages += 1
    for (const id of ids) mails.push(`desk ${STAFF_INBOX} ${id}`)
    if (ids.size !== 1) wrong.push(`one message with one Idempotency-Key became ${ids.size}`)
  }
  async function join(): Promise<void> {
    const email = `somebody@${randomUUID()}.example.org`
    const responses = await several({ path: '/api/waitlist', ...json({ email }) })
    expectOnly(responses, [201, 200])
    const joined = responses.filter(({ status }) => status === 201).length
    if (joined > 1) wrong.push(`one address joined ${joined} times`)
    if (responses.some(({ status }) => status !== 503)) mails.push(`join ${email}`)
  }
  async function revoke(): Promise<void> {
    const agent = await ownAgent(sender)
    const ended = form({ token: await ownToken(sender, agent) })
    const headers = { ...ended.headers, ...basic(agent.client_id, agent.client_secret) }
    expectOnly(await several({ path: '/oauth/revoke', ...ended, headers }), [200])
  }
  function expectOnly(responses: readonly HttpResponse[], statuses: readonly number[]): void {
    const others = responses.filter(({ status }) => status !== 503 && !statuses.includes(status))
    wrong.push(...others.map(({ status }) => `what was delivered again was answered ${status}`))
  }

  return {
    ...repeatedFault({
      name: `each request is delivered ${TIMES} times at once`,
      numbers: ['F-28'],
      parts: [],
      refuses: [],
      async prepare({ stack, mail, admin }) {
        ;[mails, messages, wrong] = [[], 0, []]
        sender = createSender(stack.origin)
        token = await lentToken(sender, mail)
        mailsBefore = mail.received.length
        keptBefore = await keptMessages(admin)
      },
      async act({ admin }) {
        await Promise.all([message(), join(), revoke()])
        await admin.server.query('select pg_sleep(0.1)')
      },
    }),
    async finish({ mail, admin }) {
      sender[Symbol.dispose]()
      const kept = (await keptMessages(admin)) - keptBefore
      if (kept !== messages) wrong.push(`${kept} messages are kept instead of ${messages}`)
      const arrived = () => mail.received.slice(mailsBefore)
      const missing = () => {
        const names = new Set(arrived().map(identifyMail))
        return mails.filter((name) => !names.has(name))
      }
      await waitUntil(() => missing().length === 0, MAILED_MS)
      if (missing().length > 0) wrong.push(`${missing().length} of ${mails.length} mails are missing`)
      return [...wrong, ...sentAsSeveral(arrived().filter((each) => mails.includes(identifyMail(each))))]
    },
  }
}

/** Limits that refuse while they cannot be counted may still refuse after another fault. */
async function lentToken(sender: Sender, mail: FaultyStack['mail']): Promise<string> {
  let token = ''
  let last: unknown
  const isLent = async () => {
    const email = `ana@${randomUUID()}.example.org`
    token = await lendMailboxTo(await ownAgent(sender), email, { mail, sender }).catch((error: unknown) => {
      last = error
      return ''
    })
    return token !== ''
  }
  if (!(await waitUntil(isLent, MAILED_MS))) throw last
  return token
}

const parseId = ({ text }: HttpResponse) => (JSON.parse(text) as { id: string }).id

/** Waits until the first request is no longer in flight. */
async function untilTaken(send: () => Promise<HttpResponse>): Promise<HttpResponse[]> {
  const responses: HttpResponse[] = []
  await waitUntil(async () => responses.push(await send()) > 0 && responses.at(-1)?.status === 202, MAILED_MS)
  return responses
}

async function keptMessages({ api }: FaultyStack['admin']): Promise<number> {
  const { rows } = await api.query<{ kept: number }>('select count(*)::int as kept from contact_messages')
  return rows[0]?.kept ?? 0
}
