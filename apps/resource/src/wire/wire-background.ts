import { readFile } from 'node:fs/promises'
import { loadGuides } from '@plainpath/guides'
import { type Log, type Metrics, watchClock } from '@plainpath/http'
import { createMailTransport, openMailer, scaleMailCaps } from '@plainpath/mail'
import { isClockSynchronised, type Pool, readDatabaseTime } from '@plainpath/postgres'
import type { RevocationOptions } from '@plainpath/revocation'
import { followRevocations } from '../auth/follow-revocations.ts'
import type { RevocationSubscriber } from '../auth/revocation-subscriber.ts'
import { sweepUsedProofs } from '../auth/used-proofs.ts'
import { watchClientSecret } from '../auth/watch-client-secret.ts'
import type { Config } from '../config.ts'
import { createContactMailHandlers } from '../contact/contact-mail-handlers.ts'
import { followGuides } from '../guides/follow-guides.ts'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import { startRetention } from '../retention/start-retention.ts'
import { parseClientSecret } from '../settings.ts'
import { createWaitlistMailHandlers } from '../waitlist/waitlist-store.ts'
import type { Stores } from './wire-stores.ts'

/**
 * Starts the background work: it watches the clock, the client secret, revocations and guides, sends mails, and erases old data.
 * The work stops when `cleanup` is disposed of.
 */
export async function startBackgroundWork(
  config: Config,
  deps: {
    db: Pool
    stores: Stores
    subscriber: RevocationSubscriber | undefined
    revocation: RevocationOptions
    metrics: Metrics
    log: Log
    now: () => Date
    announce: (line: string) => void
    onGuidesChanged: (catalog: GuideCatalog) => void
  },
  cleanup: AsyncDisposableStack,
) {
  const { db, subscriber, metrics, log, now } = deps
  const { waitlist, contact } = deps.stores
  const clock = cleanup.use(
    watchClock({ readTime: () => readDatabaseTime(db), log, onSkew: metrics.setSkew }),
  )
  const clientSecret = cleanup.use(
    watchClientSecret({
      initial: config.clientSecret,
      read: async () => parseClientSecret(await readFile(config.clientSecretFile, 'utf8')),
      log,
    }),
  )
  if (config.redisUrl && subscriber) {
    const { name, intervals } = deps.revocation
    const options = { subscriber, name, intervals, clock: performance, log, metrics }
    cleanup.use(followRevocations(config.redisUrl, options))
  }
  const guides = cleanup.use(
    await followGuides({
      db,
      url: config.sessionDatabaseUrl,
      releaseGuides: loadGuides(),
      now,
      log,
      onChange: deps.onGuidesChanged,
    }),
  )
  const mailer = cleanup.use(
    openMailer({
      db,
      databaseUrl: config.sessionDatabaseUrl,
      sealer: config.sealer,
      hashKey: config.hashKey,
      transport: createMailTransport(config.mail, deps.announce),
      from: config.mail.from,
      caps: scaleMailCaps(config.limitsFactor),
      handlers: { ...createWaitlistMailHandlers(waitlist), ...createContactMailHandlers(contact) },
      isClockSynchronised: clock.isSynchronised,
      log,
      metrics,
      now,
    }),
  )
  const erasers = [
    (time: Date) => waitlist.eraseOldLinks(time),
    (time: Date) => contact.eraseOld(time),
    (time: Date) => sweepUsedProofs(db, time),
  ]
  // `isClockSynchronised` compares the clocks immediately before each run. `clock` has only its latest comparison.
  const retention = cleanup.use(
    startRetention(erasers, { metrics, isClockSynchronised: () => isClockSynchronised(db), log, now }),
  )
  return { clock, clientSecret, guides, mailer, retention }
}
