import { type Database, isUniqueViolation } from '@plainpath/postgres'
import type { SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import type { KeyStore } from './key-store.ts'
import { KeyState, PrivateJwk, PublicJwk, SigningAlgorithm, type SigningKey } from './signing-key.ts'

const Row = z.object({
  kid: z.string(),
  algorithm: SigningAlgorithm,
  state: KeyState,
  state_since: z.date(),
  created_at: z.date(),
  public_jwk: PublicJwk,
  private_sealed: z.instanceof(Buffer).nullable(),
})

const privateContext = (kid: string) => `signing_keys/${kid}`

/** Signing keys in Postgres, private parts sealed with the key's id as context, so that rows cannot be swapped. */
export function postgresKeyStore(db: Database, keys: SealingKeys): KeyStore {
  const toKey = (row: unknown): SigningKey => {
    const parsed = Row.parse(row)
    const {
      kid,
      algorithm,
      state,
      state_since: stateSince,
      created_at: createdAt,
      public_jwk: publicJwk,
    } = parsed
    const opened =
      parsed.private_sealed && keys.open(parsed.private_sealed, privateContext(kid)).toString('utf8')
    const privateJwk = opened ? PrivateJwk.parse(JSON.parse(opened)) : undefined
    if (privateJwk && (privateJwk.kid !== kid || privateJwk.x !== publicJwk.x))
      throw new Error(`signing key ${kid} is not what its row says`)
    return { kid, algorithm, state, stateSince, createdAt, publicJwk, privateJwk }
  }
  return {
    async read() {
      const { rows } = await db.query(
        `select kid, algorithm, state, state_since, created_at, public_jwk, private_sealed
         from signing_keys order by created_at, kid`,
      )
      return rows.map(toKey)
    },
    async addFirst(key) {
      const sealed = key.privateJwk
        ? keys.seal(JSON.stringify(key.privateJwk), privateContext(key.kid))
        : null
      try {
        await db.query(
          `insert into signing_keys (kid, algorithm, state, state_since, created_at, public_jwk, private_sealed)
           values ($1, $2, $3, $4, $5, $6, $7)`,
          [
            key.kid,
            key.algorithm,
            key.state,
            key.stateSince,
            key.createdAt,
            JSON.stringify(key.publicJwk),
            sealed,
          ],
        )
        return true
      } catch (error) {
        if (isUniqueViolation(error, 'signing_keys_one_signs')) return false
        throw error
      }
    },
  }
}
