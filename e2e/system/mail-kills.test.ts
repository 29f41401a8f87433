import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { STAFF_INBOX } from '../verification-steps.ts'
import { identifyMail, type MailLoad, startMailLoad } from './mail-load.ts'
import { type MailSystem, obtainContactToken, openMailSystem } from './open-mail-system.ts'

/** The number of kills. Before a release, run the test with MAIL_KILLS=50. */
const KILLS = Number(process.env['MAIL_KILLS'] ?? 8)
/** Determines `KILL_PLAN`. The test prints it with its figures. */
const SEED = Number(process.env['MAIL_KILLS_SEED'] ?? 20_261_120)
/** The number of requests per second. */
const RATE = Number(process.env['MAIL_KILLS_RATE'] ?? 25)
/** Longer than the lease of a killed mailer and the poll interval of the others. */
const DELIVERY_TIMEOUT_MS = 240_000
/** The time-out for a kill, for the requests before it and for the start after it. */
const MAX_MS_PER_KILL = 20_000
const VERIFIED_EMAIL = 'ana@lender.example.org'

let system: MailSystem
beforeAll(async () => {
  // Slow deliveries make it likely that a kill interrupts one.
  system = await openMailSystem({ limitsFactor: 10_000, delaysGreeting: true })
}, 120_000)
afterAll(() => system?.[Symbol.asyncDispose]())

/**
 * The processes to kill in order, each with the number of requests to send before its kill. The index selects one of the four
 * processes, two of auth and two of the API.
 */
const KILL_PLAN = fc.sample(
  fc.record({ index: fc.nat(3), requestsBefore: fc.integer({ min: 5, max: 60 }) }),
  {
    seed: SEED,
    numRuns: KILLS,
  },
)

/** Kills and restarts processes under load. Returns the number of kills by process. */
async function killProcesses(load: MailLoad): Promise<Record<string, number>> {
  const kills: Record<string, number> = {}
  const processes = [...system.stack.auth, ...system.stack.resource]
  for (const { index, requestsBefore } of KILL_PLAN) {
    const victim = processes[index]
    if (!victim) throw new Error('there is no such process')
    await load.waitUntilSent(requestsBefore)
    await victim.stop('SIGKILL')
    await victim.start()
    kills[victim.name] = (kills[victim.name] ?? 0) + 1
  }
  return kills
}

test(`${KILLS} kills at ${RATE} requests a second: every promised mail arrives, and all copies of a mail have one Message-ID`, {
  timeout: KILLS * MAX_MS_PER_KILL + DELIVERY_TIMEOUT_MS + 60_000,
}, async () => {
  const { received } = system.mail
  const token = await obtainContactToken(system, VERIFIED_EMAIL)
  const load = startMailLoad({
    origin: system.origin,
    token,
    verifiedEmail: VERIFIED_EMAIL,
    staffInbox: STAFF_INBOX,
    rate: RATE,
  })
  // Stops the load after a failed kill or start too.
  const kills = await killProcesses(load).catch(async (error: unknown) => {
    await load.stop()
    throw error
  })
  const seconds = await load.stop()
  const stoppedAt = performance.now()
  const findMissing = () => {
    const arrived = new Set(received.map(identifyMail))
    return load.promised.filter((mail) => !arrived.has(mail))
  }
  await expect
    .poll(findMissing, { interval: 500, timeout: DELIVERY_TIMEOUT_MS })
    .toEqual([])
    .finally(() => {
      const distinct = new Set(received.map(identifyMail)).size
      const figures = {
        seed: SEED,
        seconds,
        kills,
        requests: load.statuses,
        accepted: load.accepted,
        promised: load.promised.length,
        missing: findMissing().length,
        delivered: received.length,
        repeated: received.length - distinct,
        arrivedAfterSeconds: Math.round((performance.now() - stoppedAt) / 1000),
      }
      process.stdout.write(`\n${JSON.stringify(figures)}\n`)
    })
  const copiesByMail = Map.groupBy(received, identifyMail)
  const mailsWithSeveralIds = [...copiesByMail].filter(
    ([, copies]) => new Set(copies.map(({ messageId }) => messageId)).size !== 1,
  )
  expect(mailsWithSeveralIds.map(([mail]) => mail)).toEqual([])
  expect(new Set(received.map(({ messageId }) => messageId)).size).toBe(copiesByMail.size)
  for (const accepted of Object.values(load.accepted)) expect(accepted).toBeGreaterThan(0)
  // Kills explain only lost connections (0) and the gateway's 502 and 503.
  expect(Object.keys(load.statuses).filter((key) => !/ (201|202|0|502|503)$/.test(key))).toEqual([])
})
