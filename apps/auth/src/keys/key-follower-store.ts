import { createRowReader, type Database } from '@plainpath/postgres'
import { z } from 'zod'
import { TokenStoreIdentity } from '../tokens/token-store-identity.ts'

/** The self-description of an instance. Instances of earlier releases do not report it. */
const Description = z.object({
  release: z.string(),
  origin: z.string(),
  tokenStore: TokenStoreIdentity,
  kekIds: z.array(z.string()),
})
export type InstanceDescription = Readonly<z.infer<typeof Description>>

/** The last report of an instance of the authorization server. Times come from the database clock. */
const Follower = z.object({
  instanceId: z.string(),
  /** The host name and the process id, separated by a colon. */
  host: z.string(),
  /** 0 if the instance does not sign. `signingKid` and `proof` are then absent. */
  ringVersion: z.int(),
  signingKid: z.string().optional(),
  /** A signature that proves that the instance uses the signing key (`signProof`). */
  proof: z.string().optional(),
  /** Why the instance cannot use the key ring in the database. */
  problem: z.string().optional(),
  /** When the instance first reported its current ring version. */
  followedAt: z.date(),
  /** When the instance last reported. */
  seenAt: z.date(),
  ...Description.partial().shape,
  /** The instance's last report on a canary: the request id and the canary's state. */
  canary: z.string().optional(),
})
export type Follower = Readonly<z.infer<typeof Follower>>
const FollowerRow = createRowReader(Follower)

/** A report, which each instance writes at each poll. */
type FollowerReport = Omit<Follower, 'followedAt' | 'seenAt' | 'canary' | keyof InstanceDescription> &
  InstanceDescription

/** Reads the instances that reported within the last hour, sorted by host. */
export async function readFollowers(db: Database): Promise<Follower[]> {
  const { rows } = await db.query(
    `select ${FollowerRow.columns} from key_followers where seen_at > clock_timestamp() - interval '1 hour' order by host, instance_id`,
  )
  return rows.map(FollowerRow.parse)
}

/** The store in which every instance reports its signing key and describes itself. Times come from the database clock. */
export interface KeyFollowerStore {
  report(report: FollowerReport): Promise<void>
  /** Stores an instance's report on a canary. */
  reportCanary(instanceId: string, canaryReport: string): Promise<void>
  /** Finds the token store that an instance reported last; undefined before the first report. */
  findLastTokenStore(): Promise<TokenStoreIdentity | undefined>
  /** Removes a stopping instance, and all instances that have not reported for an hour. */
  remove(instanceId: string): Promise<void>
}

export function createKeyFollowerStore(db: Database): KeyFollowerStore {
  return {
    async report(report) {
      await db.query(
        `with token_store_update as (
           update token_store_in_use set token_store = $9::jsonb, reported_at = clock_timestamp()
           where token_store is distinct from $9::jsonb)
         insert into key_followers as existing
           (instance_id, host, ring_version, signing_kid, proof, problem, followed_at, seen_at,
            release, origin, token_store, kek_ids)
         values ($1, $2, $3, $4, $5, $6, clock_timestamp(), clock_timestamp(), $7, $8, $9, $10)
         on conflict (instance_id) do update set
           ring_version = $3, signing_kid = $4, proof = $5, problem = $6, seen_at = excluded.seen_at, token_store = $9,
           followed_at = case when existing.ring_version = $3 then existing.followed_at else excluded.followed_at end`,
        [
          report.instanceId,
          report.host,
          report.ringVersion,
          report.signingKid ?? null,
          report.proof ?? null,
          report.problem ?? null,
          report.release,
          report.origin,
          JSON.stringify(report.tokenStore),
          report.kekIds,
        ],
      )
    },
    async reportCanary(instanceId, canaryReport) {
      await db.query('update key_followers set canary = $2 where instance_id = $1', [
        instanceId,
        canaryReport,
      ])
    },
    async findLastTokenStore() {
      const { rows } = await db.query('select token_store from token_store_in_use')
      return TokenStoreIdentity.optional().parse(rows[0]?.['token_store'] ?? undefined)
    },
    async remove(instanceId) {
      await db.query(
        `delete from key_followers where instance_id = $1 or seen_at < clock_timestamp() - interval '1 hour'`,
        [instanceId],
      )
    },
  }
}
