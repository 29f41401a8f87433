import { randomUUID } from 'node:crypto'
import { waitUntil } from '@plainpath/stack/managed-process'
import { basic, createSender, json, type Sender } from '../send.ts'
import { identifyMail } from '../system/mail-load.ts'
import { registerExtraAgent, sendUntilServed } from './extra-agent.ts'
import type { FaultCase } from './fault-case.ts'
import { findResentMails } from './faulty-mail-server.ts'
import type { FaultyStack } from './faulty-stack.ts'

const VERIFICATIONS = 5
/** A mail may have been in transit when the fault began. */
const IN_TRANSIT_MS = 1_000
/** A refused mail is tried again after 3, 7, 20 and 55 s. */
const DELIVERY_MS = 120_000

/** Faults of the mail server. No request fails, and promised mails arrive once the server accepts mail again. */
export const MAIL_FAULTS: readonly FaultCase[] = [
  createMailServerFault('refuses connections', (system, isUnavailable) =>
    system.put({ kind: isUnavailable ? 'refuse' : 'pass' }, 'mail'),
  ),
  createMailServerFault('puts every mail off (450)', async ({ mail }, isUnavailable) =>
    mail.refuseTemporarily(isUnavailable),
  ),
]

function createMailServerFault(
  what: string,
  set: (system: FaultyStack, isUnavailable: boolean) => Promise<void>,
): FaultCase {
  let startedAt = 0
  let mailsBefore = 0
  let verificationMails: string[] = []
  let mistakes: string[] = []
  return {
    name: `the mail server ${what}`,
    numbers: ['F-29'],
    parts: [],
    refuses: [],
    isManual: true,
    async begin(system) {
      mistakes = []
      mailsBefore = system.mail.received.length
      await set(system, true)
      startedAt = performance.now()
      using sender = createSender(system.stack.origin)
      verificationMails = await Promise.all(
        Array.from({ length: VERIFICATIONS }, () => beginVerification(sender)),
      )
    },
    async end(system, ledger) {
      const receivedNames = listReceivedMails(system, mailsBefore)
      if (
        listPromisedMails(ledger.addresses, startedAt + IN_TRANSIT_MS).some((name) => receivedNames.has(name))
      )
        mistakes.push('mails were taken, so the fault was none')
      await set(system, false)
    },
    async finish(system, ledger) {
      const promisedNames = [...verificationMails, ...listPromisedMails(ledger.addresses, startedAt)]
      const listMissing = () => {
        const receivedNames = listReceivedMails(system, mailsBefore)
        return promisedNames.filter((name) => !receivedNames.has(name))
      }
      await waitUntil(() => listMissing().length === 0, DELIVERY_MS)
      const lost = listMissing().length
      if (lost > 0) mistakes.push(`${lost} of ${promisedNames.length} promised mails never came`)
      const promisedMails = system.mail.received.filter((mail) => promisedNames.includes(identifyMail(mail)))
      const maxCopies = Math.max(
        ...[...Map.groupBy(promisedMails, identifyMail).values()].map(({ length }) => length),
      )
      if (maxCopies > 2) mistakes.push(`one mail came ${maxCopies} times`)
      return [...mistakes, ...findResentMails(promisedMails)]
    },
  }
}

/** Begins a verification. Returns the mail that it causes, as `identifyMail` names it. */
async function beginVerification(sender: Sender): Promise<string> {
  const email = `somebody@${randomUUID()}.example.org`
  const { client_id: id, client_secret: secret } = await registerExtraAgent(sender)
  const content = json({ email })
  const headers = { ...content.headers, ...basic(id, secret) }
  await sendUntilServed(sender, { path: '/api/agent/claim', ...content, headers }, 202)
  return `claim ${email}`
}

const listPromisedMails = (addresses: readonly { email: string; joinedAt: number }[], since: number) =>
  addresses.filter(({ joinedAt }) => joinedAt >= since).map(({ email }) => `join ${email}`)

const listReceivedMails = ({ mail }: FaultyStack, before: number) =>
  new Set(mail.received.slice(before).map(identifyMail))
