import type { Database } from '@plainpath/postgres'
import { z } from 'zod'
import type { Follower } from './key-ring.ts'

const Row = z
  .object({
    instance_id: z.string(),
    host: z.string(),
    ring_version: z.int(),
    signing_kid: z.string().nullable(),
    proof: z.string().nullable(),
    problem: z.string().nullable(),
    followed_at: z.date(),
    seen_at: z.date(),
  })
  .transform(
    (row): Follower => ({
      instanceId: row.instance_id,
      host: row.host,
      ringVersion: row.ring_version,
      signingKid: row.signing_kid ?? undefined,
      proof: row.proof ?? undefined,
      problem: row.problem ?? undefined,
      followedAt: row.followed_at,
      seenAt: row.seen_at,
    }),
  )

/** Those heard of in the last hour, longest running first. */
export async function readFollowers(db: Database): Promise<Follower[]> {
  const { rows } = await db.query(
    `select * from key_followers where seen_at > clock_timestamp() - interval '1 hour' order by host, instance_id`,
  )
  return rows.map((row) => Row.parse(row))
}

/** Where every instance says what it signs with: in Postgres, by its clock. */
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
    /** Forgets an instance that has stopped, and those not heard of for an hour. */
    async forget(instanceId: string): Promise<void> {
      await db.query(
        `delete from key_followers where instance_id = $1 or seen_at < clock_timestamp() - interval '1 hour'`,
        [instanceId],
      )
    },
  }
}

export type KeyFollowers = ReturnType<typeof postgresKeyFollowers>
