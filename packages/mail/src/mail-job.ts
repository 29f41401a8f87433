import type { Database } from '@plainpath/postgres'
import { z } from 'zod'

/** The task of graphile-worker that sends one mail. */
export const MAIL_TASK = 'mail'

/** All that a job holds. */
export const MailJob = z.object({ id: z.uuid() })

/** Attempts follow after e^n seconds: 3 s, 7 s, 20 s, … 6 h; eleven pauses take about 16 hours. */
export const MAX_ATTEMPTS = 12

/**
 * SQL that adds the job of each mail of a table `mail (id uuid)`. A job that is there for the mail already, even one that
 * a killed worker holds, is replaced.
 */
export const ADD_MAIL_JOB = `
  select graphile_worker.add_job('${MAIL_TASK}', payload := json_build_object('id', id),
    job_key := '${MAIL_TASK}:' || id, max_attempts := ${MAX_ATTEMPTS}) from mail`

/** SQL that does so for all ids of its one parameter, and wakes the workers once. */
export const ADD_MAIL_JOBS = `
  select from graphile_worker.add_jobs(array(
    select ('${MAIL_TASK}', json_build_object('id', id), null, null, ${MAX_ATTEMPTS}, '${MAIL_TASK}:' || id, null, null
      )::graphile_worker.job_spec
    from unnest($1::uuid[]) as mail (id)))`

export async function addMailJob(tx: Database, id: string): Promise<void> {
  await tx.query(`with mail as (select $1::uuid as id) ${ADD_MAIL_JOB}`, [id])
}

/** How long after its n-th attempt graphile-worker tries a job again. */
export const retrySeconds = (attempts: number): number => Math.exp(Math.min(10, attempts))
