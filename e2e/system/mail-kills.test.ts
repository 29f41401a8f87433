import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { STAFF_INBOX } from '../lend-mailbox-to.ts'
import { lendMailbox, type MailSystem, openMailSystem } from './lend-mailbox.ts'
import { identifyMail, type MailLoad, startMailLoad } from './mail-load.ts'

/** Before a release: MAIL_KILLS=50. */
const KILLS = Number(process.env['MAIL_KILLS'] ?? 8)
const SEED = Number(process.env['MAIL_KILLS_SEED'] ?? 20_261_120)
const RATE = Number(process.env['MAIL_KILLS_RATE'] ?? 25)
/** Longer than the lease of a killed worker and the interval at which another worker polls. */
const DELIVERED_MS = 240_000
const KILL_MS = 20_000
const LENDER = 'ana@lender.example.org'

let system: MailSystem
beforeAll(async () => {
  system = await openMailSystem({ limitsFactor: 10_000 })
}, 120_000)
afterAll(() => system?.[Symbol.asyncDispose]())

/** The process to kill next, and the number of requests before that. */
const KILLINGS = fc.sample(fc.record({ index: fc.nat(3), after: fc.integer({ min: 5, max: 60 }) }), {
  seed: SEED,
  numRuns: KILLS,
})

async function killUnder(load: MailLoad): Promise<Record<string, number>> {
  const kills: Record<string, number> = {}
  const processes = [...system.stack.auth, ...system.stack.resource]
  for (const { index, after } of KILLINGS) {
    const victim = processes[index]
    if (!victim) throw new Error('there is no such process')
    await load.sent(after)
    await victim.stop('SIGKILL')
    await victim.start()
    kills[victim.name] = (kills[victim.name] ?? 0) + 1
  }
  return kills
}

test(`${KILLS} kills under ${RATE} requests a second: every mail that was promised arrives, and repeats only its Message-ID`, {
  timeout: KILLS * KILL_MS + DELIVERED_MS + 60_000,
}, async () => {
  const { received } = system.mail
  const token = await lendMailbox(system, LENDER)
  const load = startMailLoad({
    origin: system.origin,
    token,
    lender: LENDER,
    staffInbox: STAFF_INBOX,
    rate: RATE,
  })
  const kills = await killUnder(load).catch(async (error: unknown) => {
    await load.stop()
    throw error
  })
  const seconds = await load.stop()
  const stoppedAt = performance.now()
  const missing = () => {
    const arrived = new Set(received.map(identifyMail))
    return load.promised.filter((mail) => !arrived.has(mail))
  }
  await expect
    .poll(missing, { interval: 500, timeout: DELIVERED_MS })
    .toEqual([])
    .finally(() => {
      const different = new Set(received.map(identifyMail)).size
      const figures = {
        ...{ seed: SEED, seconds, kills, requests: load.statuses, accepted: load.accepted },
        promised: load.promised.length,
        missing: missing().length,
        delivered: received.length,
        repeated: received.length - different,
        arrivedAfterSeconds: Math.round((performance.now() - stoppedAt) / 1000),
      }
      process.stdout.write(`\n${JSON.stringify(figures)}\n`)
    })
  const idsOf = Map.groupBy(received, identifyMail)
  const several = [...idsOf].filter(
    ([, mails]) => new Set(mails.map(({ messageId }) => messageId)).size !== 1,
  )
  expect(several.map(([name]) => name)).toEqual([])
  expect(new Set(received.map(({ messageId }) => messageId)).size).toBe(idsOf.size)
  for (const accepted of Object.values(load.accepted)) expect(accepted).toBeGreaterThan(0)
  expect(Object.keys(load.statuses).filter((each) => !/ (201|202|0|502|503)$/.test(each))).toEqual([])
})
