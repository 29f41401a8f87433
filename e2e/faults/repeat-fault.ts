import { randomUUID } from 'node:crypto'
import { waitUntil } from '@plainpath/stack/managed-process'
import { lendMailboxTo, STAFF_INBOX } from '../lend-mailbox-to.ts'
import { basic, createSender, form, type HttpResponse, json, type Sender } from '../send.ts'
import { identifyMail } from '../system/mail-load.ts'
import { registerExtraAgent, requestToken } from './extra-agent.ts'
import { createRepeatedFault, type FaultCase } from './fault-case.ts'
import { findResentMails } from './faulty-mail-server.ts'
import type { FaultyStack } from './faulty-stack.ts'

const REPETITIONS = 3
const DELIVERY_MS = 60_000

/** Creates a fault that delivers each request several times at once, as clients and proxies do if a request seems lost. */
export function createDeliveredTwiceFault(): FaultCase {
  let sender: Sender
  let token = ''
  let mailsBefore = 0
  let storedBefore = 0
  /** The mails that must arrive once, as `identifyMail` names them. */
  let expectedMails: string[] = []
  let messageCount = 0
  let mistakes: string[] = []

  /** Sends one request several times at once, and returns the responses. */
  async function sendRepeatedly(content: { path: string; headers: Record<string, string>; body: string }) {
    const responses = Array.from({ length: REPETITIONS }, () => sender.send({ method: 'POST', ...content }))
    return Promise.all(responses)
  }
  async function sendMessage(): Promise<void> {
    const content = json({ topic: 'question', message: 'May I renew it from abroad?' })
    const messageHeaders = { authorization: `Bearer ${token}`, 'idempotency-key': randomUUID() }
    const request = { path: '/api/contact', ...content, headers: { ...content.headers, ...messageHeaders } }
    const responses = await sendRepeatedly(request)
    responses.push(...(await sendUntilAccepted(() => sender.send({ method: 'POST', ...request }))))
    expectOnly(responses, [202, 409])
    const ids = new Set(responses.filter(({ status }) => status === 202).map(parseId))
    messageCount += 1
    for (const id of ids) expectedMails.push(`desk ${STAFF_INBOX} ${id}`)
    if (ids.size !== 1) mistakes.push(`one message with one Idempotency-Key became ${ids.size}`)
  }
  async function join(): Promise<void> {
    const email = `somebody@${randomUUID()}.example.org`
    const responses = await sendRepeatedly({ path: '/api/waitlist', ...json({ email }) })
    expectOnly(responses, [201, 200])
    const joinCount = responses.filter(({ status }) => status === 201).length
    if (joinCount > 1) mistakes.push(`one address joined ${joinCount} times`)
    if (responses.some(({ status }) => status !== 503)) expectedMails.push(`join ${email}`)
  }
  async function revoke(): Promise<void> {
    const agent = await registerExtraAgent(sender)
    const revocation = form({ token: await requestToken(sender, agent) })
    const headers = { ...revocation.headers, ...basic(agent.client_id, agent.client_secret) }
    expectOnly(await sendRepeatedly({ path: '/oauth/revoke', ...revocation, headers }), [200])
  }
  function expectOnly(responses: readonly HttpResponse[], statuses: readonly number[]): void {
    const unexpectedResponses = responses.filter(({ status }) => status !== 503 && !statuses.includes(status))
    mistakes.push(...unexpectedResponses.map(({ status }) => `the repeated request got ${status}`))
  }

  return {
    ...createRepeatedFault({
      name: `each request is delivered ${REPETITIONS} times at once`,
      numbers: ['F-28'],
      parts: [],
      refuses: [],
      async prepare({ stack, mail, admin }) {
        ;[expectedMails, messageCount, mistakes] = [[], 0, []]
        sender = createSender(stack.origin)
        token = await requestLentToken(sender, mail)
        mailsBefore = mail.received.length
        storedBefore = await countStoredMessages(admin)
      },
      async act({ admin }) {
        await Promise.all([sendMessage(), join(), revoke()])
        await admin.server.query('select pg_sleep(0.1)')
      },
    }),
    async finish({ mail, admin }) {
      sender[Symbol.dispose]()
      const stored = (await countStoredMessages(admin)) - storedBefore
      if (stored !== messageCount) mistakes.push(`${stored} messages are kept instead of ${messageCount}`)
      const listArrived = () => mail.received.slice(mailsBefore)
      const listMissing = () => {
        const names = new Set(listArrived().map(identifyMail))
        return expectedMails.filter((name) => !names.has(name))
      }
      await waitUntil(() => listMissing().length === 0, DELIVERY_MS)
      if (listMissing().length > 0)
        mistakes.push(`${listMissing().length} of ${expectedMails.length} mails are missing`)
      return [
        ...mistakes,
        ...findResentMails(listArrived().filter((each) => expectedMails.includes(identifyMail(each)))),
      ]
    },
  }
}

/** Requests a token for a lent mailbox. Tries again, since limits that cannot be counted after another fault may refuse. */
async function requestLentToken(sender: Sender, mail: FaultyStack['mail']): Promise<string> {
  let token = ''
  let lastError: unknown
  const isLent = async () => {
    const email = `ana@${randomUUID()}.example.org`
    token = await lendMailboxTo(await registerExtraAgent(sender), email, { mail, sender }).catch(
      (error: unknown) => {
        lastError = error
        return ''
      },
    )
    return token !== ''
  }
  if (!(await waitUntil(isLent, DELIVERY_MS))) throw lastError
  return token
}

const parseId = ({ text }: HttpResponse) => (JSON.parse(text) as { id: string }).id

/** Sends a request until it is accepted, since the first one may still be in flight. Returns all responses. */
async function sendUntilAccepted(send: () => Promise<HttpResponse>): Promise<HttpResponse[]> {
  const responses: HttpResponse[] = []
  await waitUntil(
    async () => responses.push(await send()) > 0 && responses.at(-1)?.status === 202,
    DELIVERY_MS,
  )
  return responses
}

async function countStoredMessages({ api }: FaultyStack['admin']): Promise<number> {
  const { rows } = await api.query<{ kept: number }>('select count(*)::int as kept from contact_messages')
  return rows[0]?.kept ?? 0
}
