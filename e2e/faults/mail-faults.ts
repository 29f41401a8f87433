import { randomUUID } from 'node:crypto'
import { waitUntil } from '@plainpath/stack/managed-process'
import { basic, createSender, json, type Sender } from '../send.ts'
import { identifyMail } from '../system/mail-load.ts'
import { registerExtraAgent, sendUntilServed } from './extra-agent.ts'
import type { FaultCase } from './fault-case.ts'
import { describeResentMails } from './faulty-mail-server.ts'
import type { FaultyStack } from './faulty-stack.ts'

const VERIFICATION_COUNT = 5
/** For this time after the fault began, mails that were already in transit may still arrive. */
const IN_TRANSIT_MS = 1_000
/** Long enough for four further attempts, before which the mailer pauses 3, 7, 20 and 55 s. */
const DELIVERY_TIMEOUT_MS = 120_000

/**
 * Faults of the mail server. No request may fail, and promised mails must arrive once the server accepts mail again.
 */
export const MAIL_FAULTS: readonly FaultCase[] = [
  createMailServerFault('refuses connections', (system, isUnavailable) =>
    system.setFault({ kind: isUnavailable ? 'refuse' : 'pass' }, 'mail'),
  ),
  createMailServerFault('temporarily refuses every mail (450)', async ({ mail }, isUnavailable) =>
    mail.setRefusing(isUnavailable),
  ),
]

function createMailServerFault(
  description: string,
  setUnavailable: (system: FaultyStack, isUnavailable: boolean) => Promise<void>,
): FaultCase {
  let startedAt = 0
  let mailCountBefore = 0
  let verificationNames: string[] = []
  let mistakes: string[] = []
  return {
    name: `the mail server ${description}`,
    numbers: ['F-29'],
    components: [],
    refusedOperations: [],
    isManual: true,
    async begin(system) {
      mistakes = []
      mailCountBefore = system.mail.received.length
      await setUnavailable(system, true)
      startedAt = performance.now()
      using sender = createSender(system.stack.origin)
      verificationNames = await Promise.all(
        Array.from({ length: VERIFICATION_COUNT }, () => beginVerification(sender)),
      )
    },
    async end(system, ledger) {
      const receivedNames = listReceivedNames(system, mailCountBefore)
      const mailsDuringFault = listPromisedNames(ledger.addresses, startedAt + IN_TRANSIT_MS)
      if (mailsDuringFault.some((name) => receivedNames.has(name)))
        mistakes.push('the server accepted mails, so the fault had no effect')
      await setUnavailable(system, false)
    },
    async finish(system, ledger) {
      const promisedNames = [...verificationNames, ...listPromisedNames(ledger.addresses, startedAt)]
      const listMissing = () => {
        const receivedNames = listReceivedNames(system, mailCountBefore)
        return promisedNames.filter((name) => !receivedNames.has(name))
      }
      await waitUntil(() => listMissing().length === 0, DELIVERY_TIMEOUT_MS)
      const missingCount = listMissing().length
      if (missingCount > 0)
        mistakes.push(`${missingCount} of ${promisedNames.length} promised mails never arrived`)
      const promisedMails = system.mail.received.filter((mail) => promisedNames.includes(identifyMail(mail)))
      const maxCopies = Math.max(
        ...[...Map.groupBy(promisedMails, identifyMail).values()].map(({ length }) => length),
      )
      // A mail is delivered at least once, so a second copy is permitted.
      if (maxCopies > 2) mistakes.push(`one mail arrived ${maxCopies} times`)
      return [...mistakes, ...describeResentMails(promisedMails)]
    },
  }
}

/** Begins a verification. Returns the name of its mail, as from `identifyMail`. */
async function beginVerification(sender: Sender): Promise<string> {
  const email = `somebody@${randomUUID()}.example.org`
  const { client_id: id, client_secret: secret } = await registerExtraAgent(sender)
  const content = json({ email })
  const headers = { ...content.headers, ...basic(id, secret) }
  await sendUntilServed(sender, { path: '/api/agent/claim', ...content, headers }, 202)
  return `claim ${email}`
}

/** Lists the names of the mails to people who joined the waitlist since a time. */
const listPromisedNames = (addresses: readonly { email: string; joinedAt: number }[], since: number) =>
  addresses.filter(({ joinedAt }) => joinedAt >= since).map(({ email }) => `join ${email}`)

/** Lists the names of the mails that arrived after the first `mailCountBefore`. */
const listReceivedNames = ({ mail }: FaultyStack, mailCountBefore: number) =>
  new Set(mail.received.slice(mailCountBefore).map(identifyMail))
