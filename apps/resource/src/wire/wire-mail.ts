import type { Log, Metrics } from '@plainpath/http'
import { type Mailer, type MailHandler, mailTransport, openMailer, scaledMailCaps } from '@plainpath/mail'
import type { Pool } from '@plainpath/postgres'
import type { Config } from '../config.ts'

export interface MailDeps {
  readonly db: Pool
  readonly log: Log
  readonly metrics: Metrics
  readonly now: () => Date
  /** Gets a line with the link of each mail, where mail becomes files. */
  readonly announce: (line: string) => void
  readonly handlers: Readonly<Record<string, MailHandler>>
}

/** Sends the mails of this app. */
export const startMailer = (config: Config, deps: MailDeps): Mailer =>
  openMailer({
    ...deps,
    databaseUrl: config.databaseUrl,
    sealingKeys: config.sealingKeys,
    hashKey: config.hashKey,
    transport: mailTransport(config.mail, deps.announce),
    from: config.mail.from,
    caps: scaledMailCaps(config.limitsFactor),
  })
