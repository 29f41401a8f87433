import { isDeepStrictEqual } from 'node:util'
import type { SealingKeys } from '@plainpath/sealing'
import { z } from 'zod'
import { UnreadableKey } from './key-store.ts'
import {
  type KeyRecord,
  KeyState,
  PrivateJwk,
  PublicJwk,
  publicPart,
  SigningAlgorithm,
  type SigningKey,
  thumbprint,
} from './signing-key.ts'

export const KEY_COLUMNS = 'kid, algorithm, state, state_since, created_at, public_jwk, private_sealed'

/** Those whose private part exists. */
export const SECRET_STATES: ReadonlySet<KeyState> = new Set(['generated', 'published', 'signing'])

const Record = z
  .object({
    kid: z.string(),
    algorithm: SigningAlgorithm,
    state: KeyState,
    state_since: z.date(),
    created_at: z.date(),
    public_jwk: PublicJwk,
  })
  .transform(
    (row): KeyRecord => ({
      kid: row.kid,
      algorithm: row.algorithm,
      state: row.state,
      stateSince: row.state_since,
      createdAt: row.created_at,
      publicJwk: row.public_jwk,
    }),
  )
const Sealed = z.object({ private_sealed: z.instanceof(Buffer).nullable() })

/** What the private part is sealed for, so that rows cannot be swapped. */
export const privateContext = (kid: string) => `signing_keys/${kid}`

/** A row without its private part. */
export const toRecord = (row: unknown): KeyRecord => Record.parse(row)

/** @throws {UnreadableKey} for a row that is not as it was written */
export function toSigningKey(row: unknown, keys: SealingKeys, ringVersion: number): SigningKey {
  const kid = String((row as { kid?: unknown }).kid)
  try {
    const record = Record.parse(row)
    const { private_sealed: sealed } = Sealed.parse(row)
    const privateJwk = sealed ? openPrivate(sealed, kid, keys) : undefined
    const { publicJwk, algorithm, state } = record
    const named = publicJwk.kid === kid && publicJwk.alg === algorithm && thumbprint(publicJwk) === kid
    const matches = privateJwk === undefined || isDeepStrictEqual(publicPart(privateJwk), publicJwk)
    if (!named || !matches || SECRET_STATES.has(state) !== (privateJwk !== undefined))
      throw new Error('its row contradicts itself')
    return { ...record, privateJwk }
  } catch (cause) {
    throw new UnreadableKey(kid, ringVersion, { cause })
  }
}

const openPrivate = (sealed: Buffer, kid: string, keys: SealingKeys) =>
  PrivateJwk.parse(JSON.parse(keys.open(sealed, privateContext(kid)).toString('utf8')))
