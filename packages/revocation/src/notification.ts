/** A revocation of one token, of all tokens of a client, or of all tokens. `hash` is the token's SHA-256 in base64url. */
export type Revocation =
  | { readonly kind: 'token'; readonly hash: string }
  | { readonly kind: 'client'; readonly id: string }
  | { readonly kind: 'everything' }

/**
 * A message on the revocation channel. `mark` is chosen at random when the revocation state is created. `number` increases by one
 * with each revocation, and is comparable only under the same mark.
 */
export interface RevocationNotification {
  readonly mark: string
  readonly number: number
  readonly revoked: Revocation
}

/** Formats a revocation as the last part of a notification: `token <hash>`, `client <id>` or `everything`. */
export function formatRevocation(revocation: Revocation): string {
  if (revocation.kind === 'token') return `token ${revocation.hash}`
  return revocation.kind === 'client' ? `client ${revocation.id}` : 'everything'
}

/**
 * Parses `<mark> <number> <revocation>`. A revocation that this release cannot parse counts as `everything`: an older release may
 * then accept too few tokens, but never too many.
 *
 * @returns undefined for text that is not a notification
 */
export function parseNotification(text: string): RevocationNotification | undefined {
  // 15 digits: every such number is below 2^53, so JavaScript represents it exactly.
  const [, mark, number, revocation = ''] = /^(\S+) (\d{1,15}) (.+)$/s.exec(text) ?? []
  if (mark === undefined) return undefined
  const [, kind, value = ''] = /^(token|client) (\S+)$/.exec(revocation) ?? []
  return { mark, number: Number(number), revoked: toRevocation(kind, value) }
}

function toRevocation(kind: string | undefined, value: string): Revocation {
  if (kind === 'token') return { kind, hash: value }
  return kind === 'client' ? { kind, id: value } : { kind: 'everything' }
}
