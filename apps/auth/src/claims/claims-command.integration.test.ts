import { Command } from 'commander'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exampleAgent, exampleHashKey } from '../../test/example-agent.ts'
import { at, DAY_MS, exampleAttempt, exampleRedemption, linkMail, START } from '../../test/example-claim.ts'
import { type Authority, NO_TOKENS, openAuthority } from '../../test/open-authority.ts'
import { addClaimsCommand } from './claims-command.ts'
import { postgresClaimAttempts } from './postgres-claim-attempts.ts'
import { postgresClaims } from './postgres-claims.ts'

let authority: Authority
let claims: ReturnType<typeof postgresClaims>
let clock = START
beforeAll(async () => {
  authority = await openAuthority()
})
afterAll(() => authority[Symbol.asyncDispose]())

async function run(args: string): Promise<string> {
  const printed: string[] = []
  const program = new Command('auth').exitOverride()
  addClaimsCommand(program, {
    io: { print: (line) => void printed.push(line) },
    refuse: (text) => new Error(text),
    stores: (work) => work({ claims }),
    now: () => clock,
  })
  await program.parseAsync(args.split(' '), { from: 'user' })
  return printed.join('\n')
}

test('operators see claims without addresses, and end them once', async () => {
  const { db, sealingKeys, agents } = authority
  const deps = {
    db,
    sealingKeys,
    hashKey: exampleHashKey(),
    addMail: async () => undefined,
    events: authority.events,
  }
  claims = postgresClaims({ ...deps, ...NO_TOKENS })
  const attempts = postgresClaimAttempts(deps)
  expect(await run('claims list')).toBe('There is no claim.')
  const ids: string[] = []
  for (let n = 0; n < 2; n++) {
    const record = exampleAgent()
    await agents.add(record)
    const attempt = exampleAttempt(record.agent.id, { createdAt: at(n) })
    await attempts.begin(attempt, linkMail(attempt))
    await attempts.press(attempt.id, Buffer.alloc(32), at(n))
    await claims.redeem(exampleRedemption(attempt.id, Buffer.alloc(32), at(n)))
    ids.push(attempt.registrationId)
  }
  const [older = '', newer = ''] = ids
  expect(await run(`claims revoke ${older}`)).toBe(`${older} has ended; its address is erased.`)
  await expect(run(`claims revoke ${older} --json`)).rejects.toThrow('or it has ended')
  const listed = await run('claims list --json')
  expect(JSON.parse(listed)).toMatchObject([
    { registration_id: newer, status: 'live' },
    { registration_id: older, status: 'ended', ended_by: 'operator', ended_at: START.toISOString() },
  ])
  expect(listed).not.toContain('example.org')
  expect(JSON.parse(await run('claims list --live --limit 1 --json'))).toMatchObject([
    { registration_id: newer },
  ])
  clock = at(31 * DAY_MS)
  expect(await run('claims list --limit 1')).toMatch(new RegExp(`^${newer}  agt_.*ended by expired$`))
  expect(await run('claims list --live')).toBe('No claim is live.')
  await expect(run(`claims revoke ${newer}`)).rejects.toThrow('or it has ended')
})
