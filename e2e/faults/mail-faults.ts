import { randomUUID } from 'node:crypto'
import { waitUntil } from '@plainpath/stack/managed-process'
import { basic, createSender, json, type Sender } from '../send.ts'
import { identifyMail } from '../system/mail-load.ts'
import type { FaultCase } from './fault-case.ts'
import { sentAsSeveral } from './faulty-mail-server.ts'
import type { FaultyStack } from './faulty-stack.ts'
import { ownAgent, sendUntilServed } from './own-agent.ts'

const CLAIMS = 5
/** A mail may have been in transit when the fault began. */
const ON_ITS_WAY_MS = 1_000
/** A refused mail is tried again after 3, 7, 20 and 55 s. */
const DELIVERED_MS = 120_000

/** Faults of the mail server. No request fails; promised mails follow when the server accepts mail again. */
export const MAIL_FAULTS: readonly FaultCase[] = [
  mailServer('refuses connections', (system, away) => system.put({ kind: away ? 'refuse' : 'pass' }, 'mail')),
  mailServer('puts every mail off (450)', async ({ mail }, away) => mail.putOff(away)),
]

function mailServer(what: string, set: (system: FaultyStack, away: boolean) => Promise<void>): FaultCase {
  let begun = 0
  let mailsBefore = 0
  let claims: string[] = []
  let wrong: string[] = []
  return {
    name: `the mail server ${what}`,
    numbers: ['F-29'],
    parts: [],
    refuses: [],
    isManual: true,
    async begin(system) {
      wrong = []
      mailsBefore = system.mail.received.length
      await set(system, true)
      begun = performance.now()
      using sender = createSender(system.stack.origin)
      claims = await Promise.all(Array.from({ length: CLAIMS }, () => claim(sender)))
    },
    async end(system, ledger) {
      const taken = namesSince(system, mailsBefore)
      if (promises(ledger.addresses, begun + ON_ITS_WAY_MS).some((name) => taken.has(name)))
        wrong.push('mails were taken, so the fault was none')
      await set(system, false)
    },
    async finish(system, ledger) {
      const promised = [...claims, ...promises(ledger.addresses, begun)]
      const missing = () => {
        const taken = namesSince(system, mailsBefore)
        return promised.filter((name) => !taken.has(name))
      }
      await waitUntil(() => missing().length === 0, DELIVERED_MS)
      const lost = missing().length
      if (lost > 0) wrong.push(`${lost} of ${promised.length} promised mails never came`)
      const ours = system.mail.received.filter((mail) => promised.includes(identifyMail(mail)))
      const most = Math.max(...[...Map.groupBy(ours, identifyMail).values()].map(({ length }) => length))
      if (most > 2) wrong.push(`one mail came ${most} times`)
      return [...wrong, ...sentAsSeveral(ours)]
    },
  }
}

/** Begins a verification. Returns the mail that follows, as `identifyMail` names it. */
async function claim(sender: Sender): Promise<string> {
  const email = `somebody@${randomUUID()}.example.org`
  const { client_id: id, client_secret: secret } = await ownAgent(sender)
  const claiming = json({ email })
  const headers = { ...claiming.headers, ...basic(id, secret) }
  await sendUntilServed(sender, { path: '/api/agent/claim', ...claiming, headers }, 202)
  return `claim ${email}`
}

const promises = (addresses: readonly { email: string; joinedAt: number }[], since: number) =>
  addresses.filter(({ joinedAt }) => joinedAt >= since).map(({ email }) => `join ${email}`)

const namesSince = ({ mail }: FaultyStack, before: number) =>
  new Set(mail.received.slice(before).map(identifyMail))
