import { randomUUID } from 'node:crypto'
import { drawRandomBytes, sha256 } from '@plainpath/sealing'
import { z } from 'zod'

/** The secret in a mailed link: 256 random bits as 43 base64url characters. */
export const LinkSecret = z.string().regex(/^[A-Za-z0-9_-]{43}$/)

/** The part of a link that is stored. It has a hash instead of the secret. */
export interface StoredLink {
  readonly id: string
  readonly secretHash: Buffer
}

/** Creates a link. Put its secret only into the mail, and store only `stored`. */
export function createLink(): { secret: string; stored: StoredLink } {
  const secret = drawRandomBytes(32).toString('base64url')
  return { secret, stored: { id: randomUUID(), secretHash: sha256(secret) } }
}
