import { z } from 'zod'

const Check = z.enum(['ok', 'failed'])

/** The response of `GET /health`. */
export const Health = z.object({
  status: z.enum(['ok', 'degraded']).meta({
    description:
      '`degraded`: guides are served, but one of `checks` failed, or answers are paused or unavailable.',
  }),
  version: z.string(),
  checks: z.object({
    database: Check.meta({ description: 'The waitlist and messages need it.' }),
    auth: Check.meta({ description: 'Requests with a token need it.' }),
  }),
  answers: z
    .object({
      status: z.enum(['ok', 'paused', 'unavailable']).meta({
        description:
          '`paused`: staff stopped answers. `unavailable`: this instance has not yet read what staff turned off.',
      }),
      withdrawnSections: z.array(z.string()),
      disabledTriggers: z.array(z.string()),
    })
    .meta({ description: 'The state of `POST /api/answers`.' }),
})

export type AnswersState = z.infer<typeof Health>['answers']
