import { AgentId, verifiedDomain } from '@plainpath/domain'
import type { Database } from '@plainpath/postgres'
import { type HashKey, openIfPossible, type SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import { openAgentName } from './agent-name.ts'
import { emailEncryptionContext } from './attempt-row.ts'
import type { Claim, ConfirmedAgent } from './claim.ts'
import { storedEndLinkSecret } from './end-link.ts'

/** Who stands behind a live claim, for an API that sends them mail. */
export interface ConfirmedPerson {
  /** The address as typed. */
  readonly email: string
  readonly agent: ConfirmedAgent
  /** The secret of the link that ends the claim. Absent for a claim of an earlier release or hash key. */
  readonly endSecret?: string | undefined
}

/** What is stored of an agent that mails describe. */
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

/** Finds the person of a live claim. */
export async function findPerson(
  { db, sealingKeys, hashKey }: { db: Database; sealingKeys: SealingKeys; hashKey: HashKey },
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
  const claim = PersonRow.parse(rows[0])
  const { agentId, endLinkHash } = claim
  return {
    email: openEmail(sealingKeys, claim),
    agent: toConfirmedAgent(sealingKeys, { ...claim, id: agentId }, claim),
    endSecret: storedEndLinkSecret(hashKey, id, endLinkHash),
  }
}

/** Decrypts the address of a claim. @throws {SealError} when its key-encryption key is gone */
export const openEmail = (
  keys: SealingKeys,
  claim: { readonly id: string; readonly emailSealed: Buffer },
): string => keys.open(claim.emailSealed, emailEncryptionContext(claim.id)).toString('utf8')

export const toConfirmedAgent = (
  keys: SealingKeys,
  { id, nameSealed, registeredAt, appHost }: DescribedAgent,
  { verifiedAt, expiresAt }: Pick<Claim, 'verifiedAt' | 'expiresAt'>,
): ConfirmedAgent => ({
  verifiedDomain: verifiedDomain(AgentId.parse(id)),
  name: nameSealed ? openIfPossible(() => openAgentName(keys, id, nameSealed)) : undefined,
  appHost: appHost ?? undefined,
  registeredAt,
  verifiedAt,
  expiresAt,
})

/** Describes a person and their agent to a resource server that sends mail to the person. `end_secret` is that of the link that ends the claim. */
export const describePerson = ({ email, agent, endSecret }: ConfirmedPerson) => ({
  email,
  claim: {
    ...(agent.name !== undefined && { agent_name: agent.name }),
    ...(agent.appHost !== undefined && { app_host: agent.appHost }),
    agent_registered_at: agent.registeredAt.toISOString(),
    verified_at: agent.verifiedAt.toISOString(),
    expires_at: agent.expiresAt.toISOString(),
    ...(endSecret !== undefined && { end_secret: endSecret }),
  },
})
