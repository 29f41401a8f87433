import { randomBytes } from 'node:crypto'
import { canonicalizeEmail, RULES } from '@plainpath/domain'
import { parseMailbox } from '@plainpath/mail'
import type { ServiceUrls } from '@plainpath/metadata'
import { sha256 } from '@plainpath/sealing'
import type { Stores } from '../stores.ts'
import { generateMatchPhrase } from './match-phrase.ts'
import type { NewAttempt } from './verification-attempt-store.ts'
import { composeLinkMail } from './verification-mails.ts'

/** Generates the secret of a mailed link: 256 random bits. The attempt stores only its SHA-256. */
const generateLinkSecret = (): string => randomBytes(32).toString('base64url')
/** Generates an id. `clm` begins the id of a verification, and `cla` the id of an attempt. */
const generateId = (prefix: 'clm' | 'cla') => `${prefix}_${randomBytes(16).toString('base64url')}`

/**
 * Begins a verification: queues a mail that asks a person whether an agent acts for them. The work is the same for every address,
 * so the response time reveals nothing about the address. Blocks and caps are checked when the mail is due.
 *
 * @param request.email an address that has a canonical form
 * @param request.network the network of the caller, as `RequestFacts.network` returns it
 * @param request.credentialVersion see `AuthenticatedAgent`
 * @returns the attempt; undefined if the agent is no longer active, or one of its credentials was removed since then
 * @throws {Problem} 429 if too many mails are queued
 */
export async function beginVerification(
  {
    stores,
    urls,
    now,
  }: {
    stores: Pick<Stores, 'verificationAttempts'>
    urls: Pick<ServiceUrls, 'claimAttempt'>
    now: () => Date
  },
  request: { agentId: string; email: string; network: string; credentialVersion: number },
): Promise<NewAttempt | undefined> {
  const { agentId, email, network, credentialVersion } = request
  const canonical = canonicalizeEmail(email)
  if (canonical === undefined) throw new Error('an address without a canonical form passed its schema')
  const createdAt = now()
  const secret = generateLinkSecret()
  const attempt = {
    id: generateId('cla'),
    registrationId: generateId('clm'),
    agentId,
    email,
    canonicalEmail: canonical,
    mailbox: parseMailbox(email).mailbox,
    matchPhrase: generateMatchPhrase(),
    linkHash: sha256(secret),
    linkExpiresAt: new Date(createdAt.getTime() + RULES.verificationLinkMs),
    createdAt,
    credentialVersion,
  }
  const mail = composeLinkMail({ ...attempt, network, url: urls.claimAttempt(secret) })
  return (await stores.verificationAttempts.begin(attempt, mail)) ? attempt : undefined
}
