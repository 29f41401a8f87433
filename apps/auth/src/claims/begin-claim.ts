import { randomBytes } from 'node:crypto'
import { canonicalEmail, RULES } from '@plainpath/domain'
import { parseMailbox } from '@plainpath/mail'
import type { ServiceUrls } from '@plainpath/metadata'
import { sha256 } from '@plainpath/sealing'
import type { Stores } from '../stores.ts'
import { claimLinkMail } from './claim-mails.ts'
import { newMatchPhrase } from './match-phrase.ts'
import type { NewAttempt } from './postgres-claim-attempts.ts'

/** Generates the secret of a mailed link: 256 random bits. Only its SHA-256 is stored. */
const generateLinkSecret = (): string => randomBytes(32).toString('base64url')
const newId = (prefix: 'clm' | 'cla') => `${prefix}_${randomBytes(16).toString('base64url')}`

/**
 * Begins a claim: mails a person to ask whether an agent acts for them. The work is the same for every address, which
 * reveals nothing about it: a row, a mail and a job are stored. Whether the mail is sent is decided when it is due.
 *
 * @param request.email an address that has a canonical form
 * @param request.network of the caller, as `RequestFacts.network` returns it
 * @returns the attempt; undefined when the agent is not active any more
 * @throws {Problem} 429 when too many mails wait
 */
export async function beginClaim(
  {
    stores,
    urls,
    now,
  }: {
    stores: Pick<Stores, 'claimAttempts'>
    urls: Pick<ServiceUrls, 'claimAttempt'>
    now: () => Date
  },
  { agentId, email, network }: { agentId: string; email: string; network: string },
): Promise<NewAttempt | undefined> {
  const canonical = canonicalEmail(email)
  if (canonical === undefined) throw new Error('an address without a canonical form passed its schema')
  const createdAt = now()
  const secret = generateLinkSecret()
  const attempt = {
    id: newId('cla'),
    registrationId: newId('clm'),
    agentId,
    email,
    canonicalEmail: canonical,
    mailbox: parseMailbox(email).mailbox,
    matchPhrase: newMatchPhrase(),
    linkHash: sha256(secret),
    linkExpiresAt: new Date(createdAt.getTime() + RULES.claimLinkMs),
    createdAt,
  }
  const mail = claimLinkMail({ ...attempt, network, url: urls.claimAttempt(secret) })
  return (await stores.claimAttempts.begin(attempt, mail)) ? attempt : undefined
}
