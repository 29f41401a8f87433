import { AgentId, getVerifiedDomain } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'
import { type HashKey, type Sealer, unsealIfPossible } from '@plainpath/sealing'
import { z } from 'zod'
import { decryptAgentName } from './agent-name.ts'
import { toEmailEncryptionContext } from './attempt-row.ts'
import { deriveStoredRevocationSecret } from './revocation-link.ts'
import type { ConfirmedAgent, Verification } from './verification.ts'

/** The person who confirmed an agent and whose verification is live, for an API that sends them mail. */
export interface ConfirmedPerson {
  /** The address as the person or the agent typed it. */
  readonly email: string
  readonly agent: ConfirmedAgent
  /** The secret of the link that revokes the verification; absent if an earlier release or hash key created the link. */
  readonly revocationSecret?: string | undefined
}

/** The stored facts that mails about an agent contain. */
export interface DescribedAgent {
  readonly id: string
  readonly nameSealed: Buffer | null
  readonly registeredAt: Date
  readonly appHost: string | null
}

const PersonRow = z.object({
  id: z.string(),
  agentId: z.string(),
  verifiedAt: z.date(),
  expiresAt: z.date(),
  emailSealed: z.instanceof(Buffer),
  endLinkHash: z.instanceof(Buffer),
  nameSealed: z.instanceof(Buffer).nullable(),
  registeredAt: z.date(),
  appHost: z.string().nullable(),
})

/**
 * Finds the person of a verification.
 *
 * @returns undefined unless the verification is live
 * @throws {UnsealError} if the address cannot be decrypted
 */
export async function findPerson(
  { db, sealer, hashKey }: { db: Database; sealer: Sealer; hashKey: HashKey },
  id: string,
  now: Date,
): Promise<ConfirmedPerson | undefined> {
  const { rows } = await db.query(
    `select c.id, agent_id as "agentId", verified_at as "verifiedAt", expires_at as "expiresAt",
       email_sealed as "emailSealed", end_link_hash as "endLinkHash", name_sealed as "nameSealed",
       registered_at as "registeredAt", app_host as "appHost"
     from claims c join agents on agents.id = agent_id where c.id = $1 and ended_at is null and expires_at > $2`,
    [id, now],
  )
  if (!rows[0]) return undefined
  const verification = PersonRow.parse(rows[0])
  const { agentId, endLinkHash } = verification
  return {
    email: decryptEmail(sealer, verification),
    agent: toConfirmedAgent(sealer, { ...verification, id: agentId }, verification),
    revocationSecret: deriveStoredRevocationSecret(hashKey, id, endLinkHash),
  }
}

/**
 * Decrypts the address of a verification.
 *
 * @throws {UnsealError} if its key-encryption key is missing
 */
export const decryptEmail = (
  sealer: Sealer,
  verification: { readonly id: string; readonly emailSealed: Buffer },
): string =>
  sealer.unseal(verification.emailSealed, toEmailEncryptionContext(verification.id)).toString('utf8')

/** Describes an agent for mails. The name is absent if it cannot be decrypted. */
export const toConfirmedAgent = (
  sealer: Sealer,
  { id, nameSealed, registeredAt, appHost }: DescribedAgent,
  { verifiedAt, expiresAt }: Pick<Verification, 'verifiedAt' | 'expiresAt'>,
): ConfirmedAgent => ({
  verifiedDomain: getVerifiedDomain(AgentId.parse(id)),
  name: nameSealed ? unsealIfPossible(() => decryptAgentName(sealer, id, nameSealed)) : undefined,
  appHost: appHost ?? undefined,
  registeredAt,
  verifiedAt,
  expiresAt,
})

/**
 * Describes a person and their agent to a resource server that sends mail to the person. `end_secret` belongs to the link that
 * revokes the verification.
 */
export const describePerson = ({ email, agent, revocationSecret }: ConfirmedPerson) => ({
  email,
  claim: {
    ...(agent.name !== undefined && { agent_name: agent.name }),
    ...(agent.appHost !== undefined && { app_host: agent.appHost }),
    agent_registered_at: agent.registeredAt.toISOString(),
    verified_at: agent.verifiedAt.toISOString(),
    expires_at: agent.expiresAt.toISOString(),
    ...(revocationSecret !== undefined && { end_secret: revocationSecret }),
  },
})
