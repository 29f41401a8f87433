/*
 * Stores connections in PostgreSQL. A connection is one person's sign-in with an app. It is stored as an agent without
 * credentials, so tokens, verifications, limits and revocation work as for agents (decision 0039).
 */
import { randomBytes } from 'node:crypto'
import { AgentId, RegistrationId } from '@plainpath/domain'
import { createRowReader, type Database, type Pool } from '@plainpath/postgres'
import type { Sealer } from '@plainpath/sealing'
import { z } from 'zod'
import { toNameEncryptionContext } from '../verifications/agent-name.ts'
import type { VerificationStore } from '../verifications/verification-store.ts'

/** A connection with a live verification. */
const Connection = z.object({
  agentId: AgentId,
  appClientId: z.string(),
  appHost: z.string(),
  verificationId: RegistrationId,
  /** When the verification, and with it the connection, expires. */
  expiresAt: z.date(),
})
export type Connection = Readonly<z.infer<typeof Connection>>

const ConnectionRow = createRowReader(Connection)

/**
 * The credential version of every usable connection. A connection has no credentials to replace, so a higher version means that
 * it was disabled or its tokens were revoked: the person must sign in again.
 */
export const CONNECTION_CREDENTIAL_VERSION = 1

/** The app of a new connection. */
export interface ConnectedApp {
  readonly clientId: string
  /** The destination to which the sign-in returns, as `formatAppHost` formats it. */
  readonly host: string
  /** The name that the app gave itself. */
  readonly name?: string | undefined
}

/** Creates the agent of a connection. `db` may be the caller's transaction. */
export async function insertConnection(
  db: Database,
  sealer: Sealer,
  { clientId, host, name }: ConnectedApp,
  now: Date,
): Promise<AgentId> {
  const id = AgentId.parse(`agt_${randomBytes(16).toString('base64url')}`)
  await db.query(
    `insert into agents (id, name_sealed, scopes, status, generation, registered_at, last_used_at, app_client_id, app_host)
     values ($1, $2, '{contact:write}', 'active', ${CONNECTION_CREDENTIAL_VERSION}, $3, null, $4, $5)`,
    [id, name === undefined ? null : sealer.seal(name, toNameEncryptionContext(id)), now, clientId, host],
  )
  return id
}

export interface ConnectionStore {
  /**
   * Creates the agent of a connection whose person has not proven their address yet. The connection expires after an hour
   * unless the sign-in is finished.
   */
  begin(app: ConnectedApp, now: Date): Promise<AgentId>
  /**
   * Finds a connection.
   *
   * @returns undefined unless its verification is live, it is active, and no operator has revoked its tokens
   */
  find(agentId: string, now: Date): Promise<Connection | undefined>
  /**
   * Revokes a connection by revoking its verification, and notifies the person by mail unless the verification had already
   * ended. When this returns, no API accepts a token of the connection.
   *
   * @param by `agent` if the app gave up the connection, `reused` if a code or refresh token was used twice
   * @returns false if there is no such connection, or it had already ended
   */
  revoke(agentId: string, by: 'person' | 'agent' | 'operator' | 'reused', now: Date): Promise<boolean>
}

export function createConnectionStore(deps: {
  readonly db: Pool
  readonly sealer: Sealer
  readonly verifications: Pick<VerificationStore, 'findNewest' | 'revoke'>
}): ConnectionStore {
  const { db, sealer, verifications } = deps
  return {
    async begin(app, now) {
      return await insertConnection(db, sealer, app, now)
    },

    async find(agentId, now) {
      const { rows } = await db.query(
        `select ${ConnectionRow.columns} from (
           select agents.id as agent_id, app_client_id, app_host, claims.id as verification_id, claims.expires_at
           from agents join claims on claims.agent_id = agents.id and ended_at is null and claims.expires_at > $2
           where agents.id = $1 and status = 'active' and generation = ${CONNECTION_CREDENTIAL_VERSION}
             and app_client_id is not null) connection`,
        [agentId, now],
      )
      return rows[0] && ConnectionRow.parse(rows[0])
    },

    async revoke(agentId, by, now) {
      // A verification that has ended is revoked again, because an earlier call may have failed to publish the revocation.
      const verification = await verifications.findNewest(agentId)
      return verification !== undefined && (await verifications.revoke(verification.id, by, now))
    },
  }
}
