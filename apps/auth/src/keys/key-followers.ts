import { type Database, rowReader } from '@plainpath/postgres'
import { z } from 'zod'

/** An instance of the server as it last reported itself. Times are the database's. */
const Follower = z.object({
  instanceId: z.string(),
  host: z.string(),
  ringVersion: z.int(),
  signingKid: z.string().optional(),
  proof: z.string().optional(),
  problem: z.string().optional(),
  followedAt: z.date(),
  seenAt: z.date(),
})
export type Follower = Readonly<z.infer<typeof Follower>>
const FollowerRow = rowReader(Follower)

/** Reads the instances that reported within the last hour, by host. */
export async function readFollowers(db: Database): Promise<Follower[]> {
  const { rows } = await db.query(
    `select ${FollowerRow.columns} from key_followers where seen_at > clock_timestamp() - interval '1 hour' order by host, instance_id`,
  )
  return rows.map(FollowerRow.parse)
}

/** Opens the table in which every instance reports what it signs with, with times by PostgreSQL's clock. */
export function postgresKeyFollowers(db: Database) {
  return {
    async report(report: Omit<Follower, 'followedAt' | 'seenAt'>): Promise<void> {
      const { instanceId, host, ringVersion, signingKid, proof, problem } = report
      await db.query(
        `insert into key_followers as known
           (instance_id, host, ring_version, signing_kid, proof, problem, followed_at, seen_at)
         values ($1, $2, $3, $4, $5, $6, clock_timestamp(), clock_timestamp())
         on conflict (instance_id) do update set
           ring_version = $3, signing_kid = $4, proof = $5, problem = $6, seen_at = excluded.seen_at,
           followed_at = case when known.ring_version = $3 then known.followed_at else excluded.followed_at end`,
        [instanceId, host, ringVersion, signingKid ?? null, proof ?? null, problem ?? null],
      )
    },
    /** Removes an instance that stops, and those that have not reported for an hour. */
    async forget(instanceId: string): Promise<void> {
      await db.query(
        `delete from key_followers where instance_id = $1 or seen_at < clock_timestamp() - interval '1 hour'`,
        [instanceId],
      )
    },
  }
}

export type KeyFollowers = ReturnType<typeof postgresKeyFollowers>
