import type { Route } from '@plainpath/http'
import type { MailHandler, MailQueue, MailTeller } from '@plainpath/mail'
import type { ServiceUrls } from '@plainpath/metadata'
import type { Pool } from '@plainpath/postgres'
import type { Config } from '../config.ts'
import type { TellErased } from '../erasure-log.ts'
import { waitlistLinkRoutes } from '../pages/waitlist-link-routes.ts'
import type { Erase } from '../retention/keep-retention.ts'
import { forgetWaitlist } from '../waitlist/forget-waitlist.ts'
import { type JoinWaitlist, joinWaitlist } from '../waitlist/join-waitlist.ts'
import { postgresWaitlistStore } from '../waitlist/postgres-waitlist-store.ts'
import { waitlistMailHandlers } from '../waitlist/waitlist-mail-handlers.ts'
import { waitlistRoutes } from '../waitlist/waitlist-routes.ts'

export interface Waitlist {
  readonly joinWaitlist: JoinWaitlist
  readonly routes: readonly Route[]
  readonly mailHandlers: Readonly<Record<string, MailHandler>>
  readonly erasing: readonly Erase[]
}

/** The objects of the waitlist. */
export function openWaitlist(
  { sealingKeys, hashKey }: Pick<Config, 'sealingKeys' | 'hashKey'>,
  deps: {
    db: Pool
    mails: MailQueue
    mailTeller: MailTeller
    tellErased: TellErased
    urls: ServiceUrls
    now: () => Date
  },
): Waitlist {
  const { urls, now } = deps
  const onErased = (id: string) => deps.tellErased('entry', id)
  const waitlist = postgresWaitlistStore({ ...deps, onErased, sealingKeys, hashKey })
  const join = joinWaitlist({ waitlist, urls, now })
  const forget = forgetWaitlist({ waitlist, urls, now })
  return {
    joinWaitlist: join,
    routes: [
      ...waitlistRoutes({ joinWaitlist: join, forgetWaitlist: forget, urls }),
      ...waitlistLinkRoutes({ waitlist, urls, now }),
    ],
    mailHandlers: waitlistMailHandlers(waitlist),
    erasing: [(at) => waitlist.eraseOldLinks(at)],
  }
}
