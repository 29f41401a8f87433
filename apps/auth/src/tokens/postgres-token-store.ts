/*
 * Stores access tokens in PostgreSQL, for an installation without Redis. Tokens and the rows that revoke them (`agents`,
 * `claims`, `token_stop`) are in one database, so nothing is cached, and a revocation takes effect with its commit.
 */
import { createRowReader, type Database } from '@plainpath/postgres'
import { CUTOFF_COLUMNS, parseCutoff, readCutoff } from './emergency-revocation-store.ts'
import { TokenRecord, type TokenStore } from './token-store.ts'

const TokenRow = createRowReader(TokenRecord)
/** The columns of a token. `generation` and `claim_id` are the older names of the credential version and the verification. */
const TOKEN_COLUMNS =
  'client_id, tokens.generation as credential_version, tokens.epoch, scope, audience, issued_at, tokens.expires_at, tokens.claim_id as verification_id, jkt'
const BATCH_SIZE = 1_000

/**
 * Creates a token store that is backed by PostgreSQL. `revokeTokensOf` and `raiseCutoff` do nothing: the commit itself revokes.
 */
export function createPostgresTokenStore(db: Database, deps: { now: () => Date }): TokenStore {
  return {
    async save(hash, token) {
      const { rows } = await db.query(
        `with cutoff as (select ${CUTOFF_COLUMNS} from token_stop),
         saved as (
           insert into tokens
             (token_hash, client_id, generation, epoch, scope, audience, issued_at, expires_at, claim_id, jkt)
           values ($1, $2, $3, coalesce($4, (select epoch from cutoff)), $5, $6, $7, $8, $9, $10))
         select ${CUTOFF_COLUMNS} from cutoff`,
        [
          hash,
          token.clientId,
          token.credentialVersion,
          token.epoch ?? null,
          token.scope,
          token.audience,
          token.issuedAt,
          token.expiresAt,
          token.verificationId ?? null,
          token.jkt ?? null,
        ],
      )
      return token.epoch === undefined ? parseCutoff(rows[0]) : undefined
    },
    async find(hash) {
      const { rows } = await db.query(
        `select ${TOKEN_COLUMNS}
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
      // `set_config` makes this commit synchronous whatever the default is, because a confirmed revocation must survive a crash.
      await db.query(
        `delete from tokens where token_hash = $1 and set_config('synchronous_commit', 'on', true) = 'on'`,
        [hash],
      )
    },
    async revokeTokensOf() {},
    readCutoff: () => readCutoff(db),
    async raiseCutoff() {},
    async *iterateAll() {
      for (let lastHash: Buffer = Buffer.alloc(0); ; ) {
        const { rows } = await db.query<{ token_hash: Buffer }>(
          `select token_hash, ${TOKEN_COLUMNS} from tokens where token_hash > $1 order by token_hash limit ${BATCH_SIZE}`,
          [lastHash],
        )
        yield rows.map(TokenRow.parse)
        const lastRow = rows.at(-1)
        if (!lastRow || rows.length < BATCH_SIZE) return
        lastHash = lastRow.token_hash
      }
    },
  }
}
