/** What a revocation ended. A token is named by base64url of its SHA-256. */
export type Ended =
  | { readonly kind: 'token'; readonly hash: string }
  | { readonly kind: 'client'; readonly id: string }
  | { readonly kind: 'everything' }

/** What members hear. Numbers rise by one, and are to be compared under one birth mark only. */
export interface Notice {
  readonly mark: string
  readonly number: number
  readonly ended: Ended
}

/** What ended, as it stands at the end of a notice. */
export function writeEnded(ended: Ended): string {
  if (ended.kind === 'token') return `token ${ended.hash}`
  return ended.kind === 'client' ? `client ${ended.id}` : 'everything'
}

/** @returns undefined for what is no notice; one that names what we do not know ends everything */
export function readNotice(text: string): Notice | undefined {
  const [, mark, number, names = ''] = /^(\S+) (\d{1,15}) (.+)$/s.exec(text) ?? []
  if (mark === undefined) return undefined
  const [, kind, value = ''] = /^(token|client) (\S+)$/.exec(names) ?? []
  const ended: Ended =
    kind === 'token'
      ? { kind, hash: value }
      : kind === 'client'
        ? { kind, id: value }
        : { kind: 'everything' }
  return { mark, number: Number(number), ended }
}
