import { randomBytes, randomUUID } from 'node:crypto'
import { sha256 } from '@plainpath/sealing'
import { z } from 'zod'

/** The secret in a mailed link: 256 random bits as 43 base64url characters. Only a recipient of the mail can know it. */
export const LinkSecret = z.string().regex(/^[A-Za-z0-9_-]{43}$/)

/** The stored part of a link: everything but its secret. */
export interface StoredLink {
  readonly id: string
  readonly secretHash: Buffer
}

/** Creates a link. Its secret goes into the mail and is never stored. */
export function createLink(): { secret: string; stored: StoredLink } {
  const secret = randomBytes(32).toString('base64url')
  return { secret, stored: { id: randomUUID(), secretHash: sha256(secret) } }
}
