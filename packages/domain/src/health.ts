import { z } from 'zod'

const Check = z.enum(['ok', 'failed'])

/** The response of `GET /health`. */
export const Health = z.object({
  status: z.enum(['ok', 'degraded']).meta({
    description: '`degraded`: guides are answered, but a part below does not work.',
  }),
  version: z.string().meta({ description: 'Version of the API.' }),
  checks: z.object({
    database: Check.meta({ description: 'Needed by the waitlist.' }),
    auth: Check.meta({ description: 'The authorization server; needed by requests with a token.' }),
  }),
  answers: z
    .object({
      status: z.enum(['ok', 'paused', 'unavailable']).meta({
        description:
          '`paused`: our staff stopped answers. `unavailable`: this instance has not read yet what our staff turned off.',
      }),
      withdrawnSections: z.array(z.string()).meta({ description: 'Ids of sections that are not shown.' }),
      disabledTriggers: z.array(z.string()).meta({ description: 'Ids of triggers that are not looked for.' }),
    })
    .meta({ description: 'What `POST /answers` does now.' }),
})

export type AnswersState = z.infer<typeof Health>['answers']
