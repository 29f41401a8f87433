import type { Database } from '@plainpath/postgres'
import { z } from 'zod'
import type { TokenStore } from './token-store.ts'

const Row = z.object({
  client_id: z.string(),
  generation: z.int(),
  scope: z.string(),
  audience: z.string(),
  issued_at: z.date(),
  expires_at: z.date(),
})

/**
 * Tokens in Postgres, for where there is no Redis. They stand beside the authority on generations, the table
 * `agents`, so nothing is mirrored and ending an agent ends its tokens in the same commit.
 */
export function postgresTokenStore(db: Database, deps: { now: () => Date }): TokenStore {
  return {
    async save(hash, token) {
      await db.query(
        `insert into tokens (token_hash, client_id, generation, scope, audience, issued_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7)`,
        [
          hash,
          token.clientId,
          token.generation,
          token.scope,
          token.audience,
          token.issuedAt,
          token.expiresAt,
        ],
      )
    },
    async find(hash) {
      const { rows } = await db.query(
        `select client_id, tokens.generation, scope, audience, issued_at, expires_at
         from tokens join agents on agents.id = client_id
         where token_hash = $1 and expires_at > $2
           and agents.status = 'active' and agents.generation = tokens.generation`,
        [hash, deps.now()],
      )
      if (!rows[0]) return undefined
      const row = Row.parse(rows[0])
      return {
        clientId: row.client_id,
        generation: row.generation,
        scope: row.scope,
        audience: row.audience,
        issuedAt: row.issued_at,
        expiresAt: row.expires_at,
      }
    },
    async revoke(hash) {
      // Whatever the server's default: a revocation that was answered survives a crash.
      await db.query(
        `delete from tokens where token_hash = $1 and set_config('synchronous_commit', 'on', true) = 'on'`,
        [hash],
      )
    },
    async raiseGeneration() {},
  }
}
