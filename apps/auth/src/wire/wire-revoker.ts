import { REVOCATION, type RevocationOptions } from '@plainpath/revocation'
import type { Redis } from 'ioredis'
import type { AnnounceDeps, Revoker } from '../revocation/announce-end.ts'
import { nobodyToTell, openRevoker } from '../revocation/open-revoker.ts'
import { redisRevocationStore } from '../revocation/redis-revocation-store.ts'

/** Tells APIs what ended, where they keep answers in memory: where there is a Redis. */
export async function wireRevoker(
  redis: Redis | undefined,
  {
    revocation: { name, intervals } = REVOCATION,
    onAnnounced,
  }: { revocation?: RevocationOptions; onAnnounced?: AnnounceDeps['onAnnounced'] },
  opening: AsyncDisposableStack,
): Promise<Pick<Revoker, 'announceEnd' | 'mark'>> {
  if (!redis) return nobodyToTell
  const store = redisRevocationStore(redis, name)
  return opening.use(await openRevoker({ store, intervals, onAnnounced }))
}
