/** What a revocation revoked. A token is identified by base64url of its SHA-256. */
export type Revocation =
  | { readonly kind: 'token'; readonly hash: string }
  | { readonly kind: 'client'; readonly id: string }
  | { readonly kind: 'everything' }

/**
 * A message on the revocation channel. `number` rises by one with each revocation; numbers are comparable only under the
 * same `mark`, the random id that the state got when it was created.
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
 * Parses `<mark> <number> <revocation>`. A revocation of an unknown kind counts as `everything`, so that an older release
 * accepts too little and never too much.
 *
 * @returns undefined for text that is not a notification
 */
export function parseNotification(text: string): RevocationNotification | undefined {
  const [, mark, number, names = ''] = /^(\S+) (\d{1,15}) (.+)$/s.exec(text) ?? []
  if (mark === undefined) return undefined
  const [, kind, value = ''] = /^(token|client) (\S+)$/.exec(names) ?? []
  const revoked: Revocation =
    kind === 'token'
      ? { kind, hash: value }
      : kind === 'client'
        ? { kind, id: value }
        : { kind: 'everything' }
  return { mark, number: Number(number), revoked }
}
