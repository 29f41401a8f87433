import type { AgentId } from '@plainpath/domain'
import { deactivateAgent } from '../agents/deactivate-agent.ts'
import type { Actor } from '../audit/audit-chain.ts'
import { createKeyOperations, initKeys } from '../keys/key-operations.ts'
import type { KeySettings } from '../keys/key-settings.ts'
import type { Stores } from '../stores.ts'
import { revokeInEmergency } from '../tokens/emergency-revocation.ts'
import { type LoggedRevocations, type ReplayedRevocations, replayRevocations } from './replay-revocations.ts'

const REASON = 'restored from a backup'
const BATCH_SIZE = 1_000

/** The result of securing a restored database. */
export interface SecuredRestore {
  /** The number of revoked signing keys. */
  readonly keys: number
  /** The revocations that were repeated from a log; absent without a log. */
  readonly replayed?: ReplayedRevocations
  /** The numbers of clients and verifications that were revoked because no log was given; absent with a log. */
  readonly everything?: { readonly clients: number; readonly claims: number }
  /** The number of mails that wait to be sent. */
  readonly mails: number
}

/**
 * Revokes everything in a restored database that may have been revoked since the backup: all tokens, all signing keys, and the
 * clients, verifications and credentials that the log names. Without a log, it revokes every active client and every live
 * verification. Call this only while no instance runs.
 *
 * @param logged the revocations in the log; undefined without a log
 */
export async function secureRestore(
  stores: Stores,
  logged: LoggedRevocations | undefined,
  { actor, now, keys }: { actor: Actor; now: () => Date; keys: KeySettings },
): Promise<SecuredRestore> {
  await emptyRedis(stores)
  const { emergencyRevocations, tokens, revocationPublisher } = stores
  const revokedTokens = await revokeInEmergency(
    { emergencyRevocations, tokens, revocationPublisher, actor },
    { kind: 'all-tokens' },
    { reason: REASON },
  )
  if (!revokedTokens.ok) throw new Error(`the tokens could not be revoked: ${revokedTokens.error}`)
  const revokedKeys = await revokeSigningKeys(stores, { actor, settings: keys })
  const revocations = logged
    ? { replayed: await replayRevocations(logged, stores, { now, actor }) }
    : { everything: await revokeEverything(stores, now) }
  const { rows } = await stores.db.query<{ count: number }>(
    `select count(*)::int as count from mails where state = 'queued'`,
  )
  return { keys: revokedKeys, ...revocations, mails: rows[0]?.count ?? 0 }
}

/**
 * Deletes this app's keys from Redis. Tokens in Redis may have a higher epoch than the backup, and would then survive the
 * revocation.
 */
async function emptyRedis({ redis, redisPrefix }: Stores): Promise<void> {
  if (!redis) return
  let cursor = '0'
  do {
    const [nextCursor, keys] = await redis.scan(cursor, 'MATCH', `${redisPrefix}*`, 'COUNT', BATCH_SIZE)
    if (keys.length > 0) await redis.del(...keys)
    cursor = nextCursor
  } while (cursor !== '0')
}

/**
 * Revokes all signing keys, because any of them may have leaked and been revoked since the backup.
 *
 * @returns the number of revoked keys
 */
async function revokeSigningKeys(
  { keys }: Stores,
  { actor, settings }: { actor: Actor; settings: KeySettings },
): Promise<number> {
  const operations = createKeyOperations({ keys, settings, actor })
  const { ring } = await keys.view()
  const unrevokedKeys = ring.keys.filter(({ state }) => state !== 'revoked')
  for (const { kid } of unrevokedKeys) {
    const revocation = await operations.revoke(kid, { reason: REASON })
    if (!revocation.ok) throw new Error(`the key ${kid} could not be revoked: ${revocation.error.reason}`)
  }
  await initKeys({ keys })
  return unrevokedKeys.length
}

/**
 * Revokes every live verification, and disables every active client. It sends no mail about the verifications: people received
 * one if a verification was revoked before the restore, and the other revocations are caused only by the restore.
 */
async function revokeEverything(stores: Stores, now: () => Date) {
  let claims = 0
  for (;;) {
    // A revoked verification is no longer live, so each round reads the next batch.
    const liveVerifications = await stores.verifications.list(BATCH_SIZE, { liveAt: now() })
    if (liveVerifications.length === 0) break
    for (const { id } of liveVerifications) {
      if (!(await stores.verifications.revoke(id, 'operator', now(), { mail: false })))
        throw new Error(`the verification ${id} could not be revoked`)
      claims += 1
    }
  }
  let clients = 0
  for (;;) {
    const { rows } = await stores.db.query<{ id: AgentId }>(
      `select id from agents where status = 'active' limit ${BATCH_SIZE}`,
    )
    if (rows.length === 0) return { claims, clients }
    for (const { id } of rows) {
      if (!(await deactivateAgent(stores, { id, credentialVersion: undefined }, 'disabled')))
        throw new Error(`the client ${id} could not be disabled`)
      clients += 1
    }
  }
}
