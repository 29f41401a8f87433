import type { Log, Metrics } from '@plainpath/http'
import { type Mailer, mailQueue, tellMails } from '@plainpath/mail'
import type { ServiceUrls } from '@plainpath/metadata'
import { clockAgrees, type Pool } from '@plainpath/postgres'
import type { Introspect } from '../auth/introspection.ts'
import type { Config } from '../config.ts'
import { erasureTeller } from '../erasure-log.ts'
import { keepRetention, type Retention } from '../retention/keep-retention.ts'
import { type Contact, openContact } from './wire-contact.ts'
import { startMailer } from './wire-mail.ts'
import { openWaitlist, type Waitlist } from './wire-waitlist.ts'

export interface PeopleDeps {
  readonly db: Pool
  readonly introspectWithEmail: Introspect
  readonly urls: ServiceUrls
  readonly log: Log
  readonly metrics: Metrics
  readonly now: () => Date
  readonly announce: (line: string) => void
}

/** What this app keeps of people, what it mails them, and what erases it in time. */
export function openPeople(
  config: Config,
  deps: PeopleDeps,
  opening: AsyncDisposableStack,
): { waitlist: Waitlist; contact: Contact; mailer: Mailer; retention: Retention } {
  const tellErased = erasureTeller(deps.log)
  const stores = { ...deps, tellErased, mails: mailQueue(config.sealingKeys) }
  const waitlist = openWaitlist(config, { ...stores, mailTeller: opening.use(tellMails(deps)) })
  const contact = openContact(config, stores)
  const onErased = () => deps.metrics.swept('links and messages')
  const retention = { ...deps, onErased, clockAgrees: () => clockAgrees(deps.db) }
  const handlers = { ...waitlist.mailHandlers, ...contact.mailHandlers }
  return {
    waitlist,
    contact,
    mailer: opening.use(startMailer(config, { ...deps, handlers })),
    retention: opening.use(keepRetention([...waitlist.erasing, ...contact.erasing], retention)),
  }
}
