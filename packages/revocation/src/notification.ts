/** A revocation of a token, of all tokens of a client, or of all tokens. A token is identified by its SHA-256 hash in base64url. */
export type Revocation =
  | { readonly kind: 'token'; readonly hash: string }
  | { readonly kind: 'client'; readonly id: string }
  | { readonly kind: 'everything' }

/**
 * A message on the revocation channel. `number` rises by one with each revocation. Numbers are comparable only under the same
 * `mark`, which is the random id of the state.
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
 * Parses `<mark> <number> <revocation>`. A revocation of an unknown kind counts as `everything`: an older release may accept too
 * little, but never too much.
 *
 * @returns undefined for text that is not a notification
 */
export function parseNotification(text: string): RevocationNotification | undefined {
  const [, mark, number, revocation = ''] = /^(\S+) (\d{1,15}) (.+)$/s.exec(text) ?? []
  if (mark === undefined) return undefined
  const [, kind, value = ''] = /^(token|client) (\S+)$/.exec(revocation) ?? []
  const revoked: Revocation =
    kind === 'token'
      ? { kind, hash: value }
      : kind === 'client'
        ? { kind, id: value }
        : { kind: 'everything' }
  return { mark, number: Number(number), revoked }
}
