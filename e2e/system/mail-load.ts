import type { ReceivedMail } from '@plainpath/mail/testing'
import { basic, json, type Sent, senderTo } from '../send.ts'
import type { RegisteredAgent } from './open-system.ts'

type MailRequest = 'join' | 'claim' | 'contact'

export interface MailLoad {
  /** How often which request was answered what, as `join 201`; 0 is no answer. */
  readonly statuses: Readonly<Record<string, number>>
  readonly accepted: Readonly<Record<MailRequest, number>>
  /** Names of the mails that follow what was accepted. */
  readonly promised: readonly string[]
  /** Resolves once so many more requests were sent. */
  sent(count: number): Promise<void>
  /** Sends no more, and waits for what is under way. @returns how long it lasted, in seconds */
  stop(): Promise<number>
}

const TICK_MS = 10
const MOST_UNDER_WAY = 2_000

/**
 * Sends `rate` requests a second from which mails follow, whether or not earlier ones were answered: mostly joins, each
 * at a domain of its own; every tenth a claim by a new agent, and every tenth a message.
 *
 * @param options.token of an agent that a person lent their mailbox
 */
export function startMailLoad(options: {
  origin: string
  token: string
  lender: string
  desk: string
  rate: number
}): MailLoad {
  const sender = senderTo(options.origin)
  const statuses: Record<string, number> = {}
  const accepted = { join: 0, claim: 0, contact: 0 }
  const promised: string[] = []
  const underWay = new Set<Promise<void>>()
  const waiting = new Set<{ readonly at: number; readonly done: () => void }>()
  let sent = 0

  /** A killed process answers nobody; the gateway or the socket says so. */
  async function ask(sending: Sent, name: string): Promise<{ status: number; text: string }> {
    const answer = await sender.send({ method: 'POST', ...sending }).catch(() => ({ status: 0, text: '' }))
    statuses[`${name} ${answer.status}`] = (statuses[`${name} ${answer.status}`] ?? 0) + 1
    return answer
  }
  const accept = (request: MailRequest, ...mails: string[]) => {
    accepted[request] += 1
    promised.push(...mails)
  }
  const requests: Record<MailRequest, (serial: number) => Promise<void>> = {
    async join(serial) {
      const email = `somebody@join-${serial}.example.org`
      const { status } = await ask({ path: '/api/waitlist', ...json({ email }) }, 'join')
      if (status === 201) accept('join', `join ${email}`)
    },
    async claim(serial) {
      const registered = await ask({ path: '/api/agent/register' }, 'register')
      if (registered.status !== 201) return
      const agent = JSON.parse(registered.text) as RegisteredAgent
      const email = `somebody@claim-${serial}.example.org`
      const claim = json({ email })
      const headers = { ...claim.headers, ...basic(agent.client_id, agent.client_secret) }
      const { status } = await ask({ path: '/api/agent/claim', ...claim, headers }, 'claim')
      if (status === 202) accept('claim', `claim ${email}`)
    },
    async contact(serial) {
      const message = json({ topic: 'question', message: `Message ${serial} of a loaded afternoon.` })
      const own = { authorization: `Bearer ${options.token}`, 'idempotency-key': `message-${serial}` }
      const headers = { ...message.headers, ...own }
      const { status, text } = await ask({ path: '/api/contact', ...message, headers }, 'contact')
      if (status !== 202) return
      const { id } = JSON.parse(text) as { id: string }
      accept('contact', `desk ${options.desk} ${id}`, `receipt ${options.lender} ${id}`)
    },
  }
  function send(): void {
    if (underWay.size >= MOST_UNDER_WAY) return
    sent += 1
    const kind = sent % 10 === 3 ? 'claim' : sent % 10 === 7 ? 'contact' : 'join'
    const over = requests[kind](sent).finally(() => underWay.delete(over))
    underWay.add(over)
    for (const one of waiting) if (sent >= one.at) one.done()
  }

  const startedAt = performance.now()
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) / 1000) * options.rate
    while (sent < due && underWay.size < MOST_UNDER_WAY) send()
  }, TICK_MS)
  return {
    statuses,
    accepted,
    promised,
    async sent(count) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const one = { at: sent + count, done: resolve }
      waiting.add(one)
      await promise.finally(() => waiting.delete(one))
    },
    async stop() {
      clearInterval(timer)
      await Promise.all(underWay)
      sender[Symbol.dispose]()
      return Math.round((performance.now() - startedAt) / 1000)
    },
  }
}

const KINDS = {
  join: /^Confirm that you want to be on/,
  claim: /^Did you ask an AI agent/,
  confirmed: /^An AI agent can now/,
  desk: /^Message /,
  receipt: /^We received your message/,
}

/** Kind, addressee and, where one addressee gets several of a kind, the message that it is about. */
export function nameOfMail({ to, subject, text }: ReceivedMail): string {
  const kind = Object.entries(KINDS).find(([, pattern]) => pattern.test(subject))?.[0] ?? subject
  const message = /^Message: ([\w-]{36})$/m.exec(text)?.[1]
  return [kind, ...to, ...(message ? [message] : [])].join(' ')
}
