import { randomBytes, randomUUID } from 'node:crypto'
import { sha256 } from '@plainpath/sealing'
import { z } from 'zod'

/** The secret in a mailed link: 256 random bits as 43 base64url characters. It proves that its holder received the mail. */
export const LinkSecret = z.string().regex(/^[A-Za-z0-9_-]{43}$/)

/** A link as it is stored, without its secret. */
export interface StoredLink {
  readonly id: string
  readonly secretHash: Buffer
}

/** Creates a link. The secret is for the mail only and is never stored. */
export function newLink(): { secret: string; stored: StoredLink } {
  const secret = randomBytes(32).toString('base64url')
  return { secret, stored: { id: randomUUID(), secretHash: sha256(secret) } }
}
