/*
 * Access tokens in PostgreSQL, for an installation without Redis. Tokens and what revokes them (`agents`, `claims`,
 * `token_stop`) are in one database, so nothing is cached and a revocation takes effect with its own commit.
 */
import { type Database, rowReader } from '@plainpath/postgres'
import { readStop, STOP_COLUMNS, toStop } from './stop-store.ts'
import { TokenRecord, type TokenStore } from './token-store.ts'

const TokenRow = rowReader(TokenRecord)
const COLUMNS =
  'client_id, tokens.generation, tokens.epoch, scope, audience, issued_at, tokens.expires_at, tokens.claim_id, jkt'
const BATCH = 1_000

/** Opens the token store in PostgreSQL. `revokeTokensOf` and `raiseStop` do nothing: the commit itself revokes. */
export function postgresTokenStore(db: Database, deps: { now: () => Date }): TokenStore {
  return {
    async save(hash, token) {
      const { rows } = await db.query(
        `with stop as (select ${STOP_COLUMNS} from token_stop),
         saved as (
           insert into tokens
             (token_hash, client_id, generation, epoch, scope, audience, issued_at, expires_at, claim_id, jkt)
           values ($1, $2, $3, coalesce($4, (select epoch from stop)), $5, $6, $7, $8, $9, $10))
         select ${STOP_COLUMNS} from stop`,
        [
          hash,
          token.clientId,
          token.generation,
          token.epoch ?? null,
          token.scope,
          token.audience,
          token.issuedAt,
          token.expiresAt,
          token.claimId ?? null,
          token.jkt ?? null,
        ],
      )
      return token.epoch === undefined ? toStop(rows[0]) : undefined
    },
    async find(hash) {
      const { rows } = await db.query(
        `select ${COLUMNS}
         from tokens join agents on agents.id = client_id cross join token_stop left join claims on claims.id = claim_id
         where token_hash = $1 and tokens.expires_at > $2
           and (claim_id is null or (claims.ended_at is null and claims.expires_at > $2))
           and agents.status = 'active' and agents.generation = tokens.generation
           and tokens.epoch >= token_stop.epoch and issued_at >= coalesce(token_stop.issued_before, issued_at)`,
        [hash, deps.now()],
      )
      return rows[0] && TokenRow.parse(rows[0])
    },
    async revoke(hash) {
      // Synchronous whatever the server's default: a confirmed revocation must survive a crash.
      await db.query(
        `delete from tokens where token_hash = $1 and set_config('synchronous_commit', 'on', true) = 'on'`,
        [hash],
      )
    },
    async revokeTokensOf() {},
    stop: () => readStop(db),
    async raiseStop() {},
    async *all() {
      for (let after: Buffer = Buffer.alloc(0); ; ) {
        const { rows } = await db.query<{ token_hash: Buffer }>(
          `select token_hash, ${COLUMNS} from tokens where token_hash > $1 order by token_hash limit ${BATCH}`,
          [after],
        )
        yield rows.map(TokenRow.parse)
        const last = rows.at(-1)
        if (!last || rows.length < BATCH) return
        after = last.token_hash
      }
    },
  }
}
