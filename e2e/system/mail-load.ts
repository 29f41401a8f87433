import type { ReceivedMail } from '@plainpath/mail/testing'
import { basic, createSender, type HttpRequest, json } from '../send.ts'
import type { RegisteredAgent } from './open-system.ts'

/**
 * The requests that cause mails: joining the waitlist, beginning a verification (*claim* is its older name), and writing to
 * staff.
 */
type MailRequest = 'join' | 'claim' | 'contact'

export interface MailLoad {
  /** The number of responses by request and status, such as `join 201`. Status 0 means that no response arrived. */
  readonly statuses: Readonly<Record<string, number>>
  /** The number of accepted requests by kind. */
  readonly accepted: Readonly<Record<MailRequest, number>>
  /** The mails that the accepted requests must cause, in the format of `identifyMail`. */
  readonly promised: readonly string[]
  /** Resolves when `count` more requests have been sent. */
  waitUntilSent(count: number): Promise<void>
  /** Stops sending and waits for the requests in flight. Returns the duration of the load in seconds. */
  stop(): Promise<number>
}

const TICK_MS = 10
/** While this number of requests is in flight, no request is sent. The load catches up afterwards. */
const MAX_IN_FLIGHT = 2_000

/**
 * Sends `rate` requests a second that cause mails, without waiting for responses. Of ten requests, one begins a
 * verification for a new agent, one sends a message, and eight join the waitlist, each with an address in a domain of its own.
 *
 * @param options.token the token of an agent that a person has confirmed
 */
export function startMailLoad(options: {
  origin: string
  token: string
  /** The address of the person who confirmed the agent. */
  verifiedEmail: string
  /** The address to which messages to staff are mailed. */
  staffInbox: string
  /** Requests per second. */
  rate: number
}): MailLoad {
  const sender = createSender(options.origin)
  const statuses: Record<string, number> = {}
  const accepted = { join: 0, claim: 0, contact: 0 }
  const promised: string[] = []
  const inFlight = new Set<Promise<void>>()
  /** The pending calls of `waitUntilSent`. Each is done when `sentCount` reaches `at`. */
  const sendWaiters = new Set<{ readonly at: number; readonly done: () => void }>()
  let sentCount = 0

  /** Sends a request and counts its status. If the connection fails, the status is 0. */
  async function sendRequest(request: HttpRequest, name: string): Promise<{ status: number; text: string }> {
    const response = await sender.send({ method: 'POST', ...request }).catch(() => ({ status: 0, text: '' }))
    statuses[`${name} ${response.status}`] = (statuses[`${name} ${response.status}`] ?? 0) + 1
    return response
  }
  const recordAccepted = (request: MailRequest, ...mails: string[]) => {
    accepted[request] += 1
    promised.push(...mails)
  }
  const requests: Record<MailRequest, (serial: number) => Promise<void>> = {
    async join(serial) {
      const email = `somebody@join-${serial}.example.org`
      const { status } = await sendRequest({ path: '/api/waitlist', ...json({ email }) }, 'join')
      if (status === 201) recordAccepted('join', `join ${email}`)
    },
    async claim(serial) {
      const registration = await sendRequest({ path: '/api/agent/register' }, 'register')
      if (registration.status !== 201) return
      const agent = JSON.parse(registration.text) as RegisteredAgent
      const email = `somebody@claim-${serial}.example.org`
      const claim = json({ email })
      const headers = { ...claim.headers, ...basic(agent.client_id, agent.client_secret) }
      const { status } = await sendRequest({ path: '/api/agent/claim', ...claim, headers }, 'claim')
      if (status === 202) recordAccepted('claim', `claim ${email}`)
    },
    async contact(serial) {
      const message = json({ topic: 'question', message: `Message ${serial} of a loaded afternoon.` })
      const messageHeaders = {
        authorization: `Bearer ${options.token}`,
        'idempotency-key': `message-${serial}`,
      }
      const headers = { ...message.headers, ...messageHeaders }
      const { status, text } = await sendRequest({ path: '/api/contact', ...message, headers }, 'contact')
      if (status !== 202) return
      // An accepted message causes two mails: one to staff, and a receipt to the person.
      const { id } = JSON.parse(text) as { id: string }
      recordAccepted('contact', `desk ${options.staffInbox} ${id}`, `receipt ${options.verifiedEmail} ${id}`)
    },
  }
  function chooseRequest(serial: number): MailRequest {
    if (serial % 10 === 3) return 'claim'
    if (serial % 10 === 7) return 'contact'
    return 'join'
  }
  function send(): void {
    if (inFlight.size >= MAX_IN_FLIGHT) return
    sentCount += 1
    const completion = requests[chooseRequest(sentCount)](sentCount).finally(() =>
      inFlight.delete(completion),
    )
    inFlight.add(completion)
    for (const waiter of sendWaiters) if (sentCount >= waiter.at) waiter.done()
  }

  const startedAt = performance.now()
  const timer = setInterval(() => {
    const dueCount = ((performance.now() - startedAt) / 1000) * options.rate
    while (sentCount < dueCount && inFlight.size < MAX_IN_FLIGHT) send()
  }, TICK_MS)
  return {
    statuses,
    accepted,
    promised,
    async waitUntilSent(count) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const waiter = { at: sentCount + count, done: resolve }
      sendWaiters.add(waiter)
      await promise.finally(() => sendWaiters.delete(waiter))
    },
    async stop() {
      clearInterval(timer)
      await Promise.all(inFlight)
      sender[Symbol.dispose]()
      return Math.round((performance.now() - startedAt) / 1000)
    },
  }
}

/**
 * The kinds of mails, by the beginnings of their subjects. `confirmed` tells a person that an agent can now act for them; no
 * request of the load causes it. `desk` goes to staff.
 */
const SUBJECTS = {
  join: /^Confirm that you want to be on/,
  claim: /^Did you ask an AI agent/,
  confirmed: /^An AI agent can now/,
  desk: /^Message /,
  receipt: /^We received your message/,
}

/**
 * Identifies a mail by its kind, its recipients and, if it is about a message to staff, the id of that message. A mail of no
 * known kind has its whole subject instead of the kind.
 */
export function identifyMail({ to, subject, text }: ReceivedMail): string {
  const kind = Object.entries(SUBJECTS).find(([, pattern]) => pattern.test(subject))?.[0] ?? subject
  const message = /^Message: ([\w-]{36})$/m.exec(text)?.[1]
  return [kind, ...to, ...(message ? [message] : [])].join(' ')
}
