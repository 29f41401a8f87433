import { parseArgs } from 'node:util'
import { z } from 'zod'

const wholeNumber = (most: number) =>
  z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).pipe(z.int().min(1).max(most))

const Options = z.object({
  only: z.string().optional(),
  rounds: wholeNumber(100).default(5),
  seconds: wholeNumber(600).default(3),
  growth: z.boolean().default(false),
  profile: z.boolean().default(false),
  node: z.string().default(''),
})
export type Options = z.output<typeof Options>

/** Fewer rounds than these give no result that is kept. */
export const LEAST_ROUNDS = 5

export const USAGE = `npm run bench -- [--only NAME] [--rounds N] [--seconds N] [--growth] [--profile]

  --only NAMES   some paths, with commas between: guides, guide-bearer, token, introspect, register, waitlist, revoke, memory
  --rounds N     rounds of the alternation (${LEAST_ROUNDS}; with fewer nothing is written to bench/results)
  --seconds N    how long each measurement takes (3)
  --growth       with 1 000, 100 000 and 1 000 000 agents, tokens and waitlist entries instead
  --profile      a CPU profile of each app, and where its time went
  --node OPTIONS runs both apps under these options of Node, and writes nothing to bench/results`

/** @throws {Error} saying what is wrong, in one line */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      growth: { type: 'boolean' },
      profile: { type: 'boolean' },
      node: { type: 'string' },
    },
  })
  const parsed = Options.safeParse(values)
  if (parsed.success) return parsed.data
  throw new Error(parsed.error.issues.map(({ path, message }) => `--${path.join('.')} ${message}`).join('; '))
}
