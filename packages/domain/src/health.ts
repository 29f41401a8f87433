import { z } from 'zod'

const Check = z.enum(['ok', 'failed'])

/** The answer of `GET /health`. */
export const Health = z.object({
  status: z.enum(['ok', 'degraded']).meta({
    description: '`degraded`: guides are answered, but a part below does not work.',
  }),
  version: z.string().meta({ description: 'Version of the API.' }),
  checks: z.object({
    database: Check.meta({ description: 'Needed by the waitlist.' }),
    auth: Check.meta({ description: 'The authorization server; needed by requests with a token.' }),
  }),
})
