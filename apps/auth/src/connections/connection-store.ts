/*
 * Connections in PostgreSQL: one person's sign-in with an app. A connection is an agent without credentials of its own, so
 * that its tokens, claims, limits and revocation are those of agents (decision 0039).
 */
import { randomBytes } from 'node:crypto'
import { AgentId, RegistrationId } from '@plainpath/domain'
import { type Database, type Pool, rowReader } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import { nameEncryptionContext } from '../claims/agent-name.ts'
import type { ClaimStore } from '../claims/postgres-claims.ts'

/** A connection with a live claim. */
const Connection = z.object({
  agentId: AgentId,
  appClientId: z.string(),
  appHost: z.string(),
  claimId: RegistrationId,
  /** When the claim expires. The connection ends with it. */
  expiresAt: z.date(),
})
export type Connection = Readonly<z.infer<typeof Connection>>

const Row = rowReader(Connection)

/**
 * The generation of every connection. A connection has no credential that could be replaced, so a higher one means that it
 * was disabled or its tokens were revoked: the person has to sign in again.
 */
export const CONNECTION_GENERATION = 1

/** The app of a new connection. */
export interface ConnectedApp {
  readonly clientId: string
  /** Where the sign-in returns to, as `appHostOf` returns it. */
  readonly host: string
  /** The app's own word. */
  readonly name?: string | undefined
}

/** Creates the agent of a connection, in the caller's transaction. */
export async function insertConnection(
  tx: Database,
  keys: SealingKeys,
  { clientId, host, name }: ConnectedApp,
  now: Date,
): Promise<AgentId> {
  const id = AgentId.parse(`agt_${randomBytes(16).toString('base64url')}`)
  await tx.query(
    `insert into agents (id, name_sealed, scopes, status, generation, registered_at, last_used_at, app_client_id, app_host)
     values ($1, $2, '{contact:write}', 'active', ${CONNECTION_GENERATION}, $3, null, $4, $5)`,
    [id, name === undefined ? null : keys.seal(name, nameEncryptionContext(id)), now, clientId, host],
  )
  return id
}

export type Connections = ReturnType<typeof connectionStore>

/** Opens the store. */
export function connectionStore(deps: {
  readonly db: Pool
  readonly sealingKeys: SealingKeys
  readonly claims: Pick<ClaimStore, 'newest' | 'end'>
}) {
  const { db, sealingKeys, claims } = deps
  return {
    /**
     * Creates the agent of a connection whose person has not proven their address yet. It expires after an hour unless
     * the sign-in is finished.
     *
     * @param app.host where the sign-in returns to, as `appHostOf` returns it
     */
    async begin(app: ConnectedApp, now: Date): Promise<AgentId> {
      return await insertConnection(db, sealingKeys, app, now)
    },

    /**
     * Finds a connection.
     *
     * @returns undefined unless its claim is live, it is active, and none of its tokens was revoked by staff
     */
    async find(agentId: string, now: Date): Promise<Connection | undefined> {
      const { rows } = await db.query(
        `select ${Row.columns} from (
           select agents.id as agent_id, app_client_id, app_host, claims.id as claim_id, claims.expires_at
           from agents join claims on claims.agent_id = agents.id and ended_at is null and claims.expires_at > $2
           where agents.id = $1 and status = 'active' and generation = ${CONNECTION_GENERATION}
             and app_client_id is not null) connection`,
        [agentId, now],
      )
      return rows[0] && Row.parse(rows[0])
    },

    /**
     * Ends a connection by ending its claim, of which the person gets a mail. When it returns, no token of the connection
     * is accepted anywhere.
     *
     * @param by `agent` when the app gave it up, `reused` when a code or refresh token was used twice
     * @returns false when it had ended before
     */
    async end(agentId: string, by: 'person' | 'agent' | 'operator' | 'reused', now: Date): Promise<boolean> {
      // Also one that has ended: an earlier call may have failed to publish that.
      const claim = await claims.newest(agentId)
      return claim !== undefined && (await claims.end(claim.id, by, now))
    },
  }
}
