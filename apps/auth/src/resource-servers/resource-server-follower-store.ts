import { createRowReader, type Pool } from '@plainpath/postgres'
import { z } from 'zod'

interface ResourceServerReport {
  readonly instanceId: string
  /** The host name and the process id, separated by a colon. */
  readonly host: string
  /** The accepted secrets, each with the time since it was last presented to this instance; undefined for never. */
  readonly secrets: readonly {
    readonly clientId: string
    readonly fingerprint: string
    readonly usedMsAgo?: number | undefined
  }[]
  /** The reason why the instance cannot load its file. */
  readonly problem: string | undefined
}

/** The last report of an instance. Durations are counted until now, by the database clock. */
const ResourceServerFollower = z.object({
  host: z.string(),
  secrets: z.array(z.object({ clientId: z.string(), fingerprint: z.string() })),
  problem: z.string().optional(),
  seenMsAgo: z.number(),
})
export type ResourceServerFollower = z.infer<typeof ResourceServerFollower>
const FollowerRow = createRowReader(ResourceServerFollower)

/** When any instance first accepted a secret, and when it was last presented to any instance. Durations are counted until now. */
const SecretHistory = z.object({
  clientId: z.string(),
  fingerprint: z.string(),
  firstSeenMsAgo: z.number(),
  usedMsAgo: z.number().optional(),
})
export type SecretHistory = z.infer<typeof SecretHistory>
const SecretRow = createRowReader(SecretHistory)

/** The store where every instance reports the secrets that it accepts, and when each was last presented. */
export interface ResourceServerFollowerStore {
  /** Stores a report in place of the instance's last one, and updates the history of the secrets in it. */
  report(report: ResourceServerReport): Promise<void>
  /** Removes a stopping instance, and all instances that have not reported for an hour. */
  remove(instanceId: string): Promise<void>
  /** Reads the reports of the instances that reported within the last hour, and the history of every secret. */
  view(): Promise<{
    readonly followers: readonly ResourceServerFollower[]
    readonly secrets: readonly SecretHistory[]
  }>
}

export function createResourceServerFollowerStore(db: Pool): ResourceServerFollowerStore {
  return {
    report: ({ instanceId, host, secrets, problem }) =>
      db.transaction(async (tx) => {
        const acceptedSecrets = secrets.map(({ clientId, fingerprint }) => ({ clientId, fingerprint }))
        await tx.query(
          `insert into resource_server_followers (instance_id, host, secrets, problem, seen_at)
           values ($1, $2, $3, $4, clock_timestamp())
           on conflict (instance_id) do update set secrets = $3, problem = $4, seen_at = excluded.seen_at`,
          [instanceId, host, JSON.stringify(acceptedSecrets), problem ?? null],
        )
        // Every instance updates the rows in the same order, so two reports cannot deadlock.
        for (const secret of secrets.toSorted((one, other) => (one.fingerprint < other.fingerprint ? -1 : 1)))
          await tx.query(
            `insert into resource_server_secrets as existing (client_id, fingerprint, first_seen_at, used_at)
             values ($1, $2, clock_timestamp(), clock_timestamp() - $3 * interval '1 millisecond')
             on conflict (client_id, fingerprint) do update set used_at = greatest(existing.used_at, excluded.used_at)`,
            [secret.clientId, secret.fingerprint, secret.usedMsAgo ?? null],
          )
      }),
    async remove(instanceId) {
      await db.query(
        `delete from resource_server_followers
         where instance_id = $1 or seen_at < clock_timestamp() - interval '1 hour'`,
        [instanceId],
      )
    },
    async view() {
      const followers = await db.query(
        `select host, secrets, problem, ${selectMsAgo('seen_at')} as seen_ms_ago from resource_server_followers
         where seen_at > clock_timestamp() - interval '1 hour' order by host, instance_id`,
      )
      const secrets = await db.query(
        `select client_id, fingerprint, ${selectMsAgo('first_seen_at')} as first_seen_ms_ago,
                ${selectMsAgo('used_at')} as used_ms_ago
         from resource_server_secrets order by client_id, first_seen_at`,
      )
      return {
        followers: followers.rows.map(FollowerRow.parse),
        secrets: secrets.rows.map(SecretRow.parse),
      }
    },
  }
}

const selectMsAgo = (column: string) =>
  `(extract(epoch from clock_timestamp() - ${column}) * 1000)::double precision`
