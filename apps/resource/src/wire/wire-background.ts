import { readFile } from 'node:fs/promises'
import { loadGuides } from '@plainpath/guides'
import { type Log, type Metrics, watchClock } from '@plainpath/http'
import { mailTransport, openMailer, scaledMailCaps } from '@plainpath/mail'
import { clockAgrees, databaseTime, type Pool } from '@plainpath/postgres'
import type { RevocationOptions } from '@plainpath/revocation'
import { followRevocations } from '../auth/follow-revocations.ts'
import type { IntrospectionMetrics } from '../auth/introspection-client.ts'
import type { RevocationSubscriber } from '../auth/revocation-subscriber.ts'
import { sweepUsedProofs } from '../auth/used-proofs.ts'
import { watchClientSecret } from '../auth/watch-client-secret.ts'
import type { Config } from '../config.ts'
import { contactMailHandlers } from '../contact/contact-store.ts'
import { followGuides } from '../guides/follow-guides.ts'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import { startRetention } from '../retention/start-retention.ts'
import { parseClientSecret } from '../settings.ts'
import { waitlistMailHandlers } from '../waitlist/waitlist-store.ts'
import type { Stores } from './wire-stores.ts'

/** Starts all work that is not a request: polling, listening, sweeping and mailing. It stops when `opening` is disposed. */
export async function startBackgroundWork(
  config: Config,
  deps: {
    db: Pool
    stores: Stores
    subscriber: RevocationSubscriber | undefined
    revocation: RevocationOptions
    metrics: Metrics
    tokenMetrics: IntrospectionMetrics
    log: Log
    now: () => Date
    announce: (line: string) => void
    onGuides: (catalog: GuideCatalog) => void
  },
  opening: AsyncDisposableStack,
) {
  const { db, subscriber, metrics, log, now } = deps
  const { waitlist, contact } = deps.stores
  const clock = opening.use(watchClock({ storeTime: () => databaseTime(db), log, onSkew: metrics.clockSkew }))
  const clientSecret = opening.use(
    watchClientSecret({
      initial: config.clientSecret,
      read: async () => parseClientSecret(await readFile(config.clientSecretFile, 'utf8')),
      log,
    }),
  )
  if (config.redisUrl && subscriber) {
    const { name, intervals } = deps.revocation
    const options = { subscriber, name, intervals, clock: performance, log, metrics: deps.tokenMetrics }
    opening.use(followRevocations(config.redisUrl, options))
  }
  const guides = opening.use(
    await followGuides({
      db,
      url: config.databaseUrl,
      packaged: loadGuides(),
      now,
      log,
      onChange: deps.onGuides,
    }),
  )
  const mailer = opening.use(
    openMailer({
      db,
      databaseUrl: config.databaseUrl,
      sealingKeys: config.sealingKeys,
      hashKey: config.hashKey,
      transport: mailTransport(config.mail, deps.announce),
      from: config.mail.from,
      caps: scaledMailCaps(config.limitsFactor),
      handlers: { ...waitlistMailHandlers(waitlist), ...contactMailHandlers(contact) },
      log,
      metrics,
      now,
    }),
  )
  const erasing = [
    (at: Date) => waitlist.eraseOldLinks(at),
    (at: Date) => contact.eraseOld(at),
    (at: Date) => sweepUsedProofs(db, at),
  ]
  const retention = opening.use(
    startRetention(erasing, { metrics, clockAgrees: () => clockAgrees(db), log, now }),
  )
  return { clock, clientSecret, guides, mailer, retention }
}
