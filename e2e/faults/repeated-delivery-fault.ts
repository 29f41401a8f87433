import { randomUUID } from 'node:crypto'
import { waitUntil } from '@plainpath/stack/managed-process'
import { basic, createSender, form, type HttpResponse, json, type Sender } from '../send.ts'
import { identifyMail } from '../system/mail-load.ts'
import { STAFF_INBOX, verifyMailbox } from '../verification-steps.ts'
import { registerExtraAgent, requestToken } from './extra-agent.ts'
import { createRepeatedFault, type FaultCase } from './fault-case.ts'
import { describeResentMails } from './faulty-mail-server.ts'
import type { FaultyStack } from './faulty-stack.ts'

/** The number of times that each request is delivered. */
const DELIVERIES = 3
/** The maximum time until a request is accepted, or until all mails have arrived. */
const PATIENCE_MS = 60_000

/** Creates a fault that delivers requests three times simultaneously, as clients and proxies do if a request seems lost. */
export function createRepeatedDeliveryFault(): FaultCase {
  let sender: Sender
  let token = ''
  let mailCountBefore = 0
  let storedCountBefore = 0
  /** The names of the mails that must arrive, as from `identifyMail`. */
  let expectedNames: string[] = []
  let messageCount = 0
  let mistakes: string[] = []

  /** Sends one request three times simultaneously. */
  async function sendRepeatedly(request: { path: string; headers: Record<string, string>; body: string }) {
    const responses = Array.from({ length: DELIVERIES }, () => sender.send({ method: 'POST', ...request }))
    return Promise.all(responses)
  }
  /** Delivers a message to staff repeatedly. A 409 is permitted while an earlier delivery is in flight. */
  async function sendMessage(): Promise<void> {
    const content = json({ topic: 'question', message: 'May I renew it from abroad?' })
    const messageHeaders = { authorization: `Bearer ${token}`, 'idempotency-key': randomUUID() }
    const request = { path: '/api/contact', ...content, headers: { ...content.headers, ...messageHeaders } }
    const responses = await sendRepeatedly(request)
    responses.push(...(await sendUntilAccepted(() => sender.send({ method: 'POST', ...request }))))
    recordUnexpectedStatuses(responses, [202, 409])
    const ids = new Set(responses.filter(({ status }) => status === 202).map(parseId))
    messageCount += 1
    for (const id of ids) expectedNames.push(`desk ${STAFF_INBOX} ${id}`)
    if (ids.size !== 1) mistakes.push(`one message with one Idempotency-Key became ${ids.size}`)
  }
  async function join(): Promise<void> {
    const email = `somebody@${randomUUID()}.example.org`
    const responses = await sendRepeatedly({ path: '/api/waitlist', ...json({ email }) })
    recordUnexpectedStatuses(responses, [201, 200])
    const joinCount = responses.filter(({ status }) => status === 201).length
    if (joinCount > 1) mistakes.push(`one address joined ${joinCount} times`)
    if (responses.some(({ status }) => status !== 503)) expectedNames.push(`join ${email}`)
  }
  async function revoke(): Promise<void> {
    const agent = await registerExtraAgent(sender)
    const revocation = form({ token: await requestToken(sender, agent) })
    const headers = { ...revocation.headers, ...basic(agent.client_id, agent.client_secret) }
    recordUnexpectedStatuses(await sendRepeatedly({ path: '/oauth/revoke', ...revocation, headers }), [200])
  }
  /** Records a mistake for each response that is neither a refusal (503) nor has one of the statuses. */
  function recordUnexpectedStatuses(responses: readonly HttpResponse[], statuses: readonly number[]): void {
    const unexpectedResponses = responses.filter(({ status }) => status !== 503 && !statuses.includes(status))
    mistakes.push(...unexpectedResponses.map(({ status }) => `the repeated request got ${status}`))
  }

  return {
    ...createRepeatedFault({
      name: `each request is delivered ${DELIVERIES} times at once`,
      numbers: ['F-28'],
      components: [],
      refusedOperations: [],
      async prepare({ stack, mail, admin }) {
        expectedNames = []
        messageCount = 0
        mistakes = []
        sender = createSender(stack.origin)
        token = await obtainContactToken(sender, mail)
        mailCountBefore = mail.received.length
        storedCountBefore = await countStoredMessages(admin)
      },
      async act({ admin }) {
        await Promise.all([sendMessage(), join(), revoke()])
        await admin.server.query('select pg_sleep(0.1)')
      },
    }),
    async finish({ mail, admin }) {
      sender[Symbol.dispose]()
      const storedCount = (await countStoredMessages(admin)) - storedCountBefore
      if (storedCount !== messageCount)
        mistakes.push(`${storedCount} messages are stored instead of ${messageCount}`)
      const listArrived = () => mail.received.slice(mailCountBefore)
      const listMissing = () => {
        const arrivedNames = new Set(listArrived().map(identifyMail))
        return expectedNames.filter((name) => !arrivedNames.has(name))
      }
      await waitUntil(() => listMissing().length === 0, PATIENCE_MS)
      if (listMissing().length > 0)
        mistakes.push(`${listMissing().length} of ${expectedNames.length} mails are missing`)
      const expectedMails = listArrived().filter((received) => expectedNames.includes(identifyMail(received)))
      return [...mistakes, ...describeResentMails(expectedMails)]
    },
  }
}

/**
 * Registers an agent and verifies a mailbox for it. Tries again for up to a minute if this fails, which can happen
 * shortly after another fault.
 *
 * @returns a token with `contact:write`
 */
async function obtainContactToken(sender: Sender, mail: FaultyStack['mail']): Promise<string> {
  let token = ''
  let lastError: unknown
  const tryVerification = async () => {
    const email = `ana@${randomUUID()}.example.org`
    token = await verifyMailbox(await registerExtraAgent(sender), email, { mail, sender }).catch(
      (error: unknown) => {
        lastError = error
        return ''
      },
    )
    return token !== ''
  }
  if (!(await waitUntil(tryVerification, PATIENCE_MS))) throw lastError
  return token
}

const parseId = ({ text }: HttpResponse) => (JSON.parse(text) as { id: string }).id

/** Sends a request until it is accepted, because an earlier delivery may still be in flight. Returns all responses. */
async function sendUntilAccepted(send: () => Promise<HttpResponse>): Promise<HttpResponse[]> {
  const responses: HttpResponse[] = []
  await waitUntil(async () => {
    const response = await send()
    responses.push(response)
    return response.status === 202
  }, PATIENCE_MS)
  return responses
}

async function countStoredMessages({ api }: FaultyStack['admin']): Promise<number> {
  const { rows } = await api.query<{ count: number }>('select count(*)::int as count from contact_messages')
  return rows[0]?.count ?? 0
}
