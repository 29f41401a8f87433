import { randomBytes, randomUUID } from 'node:crypto'
import { sha256 } from '@plainpath/sealing'
import { z } from 'zod'

/** 256 random bits as 43 base64url characters: whoever has them got the mail. */
export const LinkSecret = z.string().regex(/^[A-Za-z0-9_-]{43}$/)

/** What is kept of a link. */
export interface StoredLink {
  readonly id: string
  readonly secretHash: Buffer
}

/** A new link; its secret is in the mail alone. */
export function newLink(): { secret: string; stored: StoredLink } {
  const secret = randomBytes(32).toString('base64url')
  return { secret, stored: { id: randomUUID(), secretHash: sha256(secret) } }
}
