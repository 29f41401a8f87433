import { err, GuideSlug, ok, type Result } from '@plainpath/domain'
import { equalBytes, type HashKey } from '@plainpath/sealing'

/** Names a place in the list of guides. Opaque and authenticated, so that nobody builds on what is inside. */
export interface GuideCursors {
  write(slug: string): string
  read(cursor: string): Result<string, 'invalid-cursor'>
}

const MAC_BYTES = 16

/** A cursor is base64url of 16 bytes of HMAC-SHA-256 and the slug to go on after. */
export function guideCursors(hashKey: HashKey): GuideCursors {
  const mac = (slug: string) => hashKey.hash('cursor', `guides\n${slug}`).subarray(0, MAC_BYTES)
  const write = (slug: string) => Buffer.concat([mac(slug), Buffer.from(slug)]).toString('base64url')
  return {
    write,
    read(cursor) {
      const slug = GuideSlug.safeParse(
        Buffer.from(cursor, 'base64url').subarray(MAC_BYTES).toString('latin1'),
      )
      const made = slug.success && equalBytes(Buffer.from(cursor), Buffer.from(write(slug.data)))
      return made ? ok(slug.data) : err('invalid-cursor')
    },
  }
}
