import type { Route } from '@plainpath/http'
import type { MailHandler, MailQueue } from '@plainpath/mail'
import type { ServiceUrls } from '@plainpath/metadata'
import type { Pool } from '@plainpath/postgres'
import type { Introspect } from '../auth/introspection.ts'
import { verifiedPerson } from '../auth/verified-person.ts'
import type { Config } from '../config.ts'
import { answerSend } from '../contact/answer-send.ts'
import { contactMailHandlers } from '../contact/contact-mail-handlers.ts'
import { contactRoutes } from '../contact/contact-routes.ts'
import { postgresContactStore } from '../contact/postgres-contact-store.ts'
import { sendMessage } from '../contact/send-message.ts'
import type { TellErased } from '../erasure-log.ts'
import { contactPageRoutes } from '../pages/contact-page-routes.ts'
import type { Erase } from '../retention/keep-retention.ts'

export interface Contact {
  readonly sendAs: ReturnType<typeof answerSend>
  readonly routes: readonly Route[]
  readonly mailHandlers: Readonly<Record<string, MailHandler>>
  readonly erasing: readonly Erase[]
}

/** The objects of messages to the desk. What is kept is mailed and erased whether or not new ones are taken. */
export function openContact(
  { sealingKeys, hashKey, deskAddress }: Pick<Config, 'sealingKeys' | 'hashKey' | 'deskAddress'>,
  deps: {
    db: Pool
    mails: MailQueue
    introspectWithEmail: Introspect
    tellErased: TellErased
    urls: ServiceUrls
    now: () => Date
  },
): Contact {
  const { db, mails, urls, now } = deps
  const onErased = (id: string) => deps.tellErased('message', id)
  const contact = postgresContactStore({ db, sealingKeys, hashKey, mails, deskAddress, onErased })
  const send = sendMessage({ contact, urls, now })
  const person = verifiedPerson(deps)
  return {
    sendAs: answerSend({ sendMessage: send, verifiedPerson: person }),
    routes: [
      ...contactRoutes({ sendMessage: send, contact, verifiedPerson: person, now }),
      ...contactPageRoutes({ contact, urls, now }),
    ],
    mailHandlers: contactMailHandlers(contact),
    erasing: [(at) => contact.eraseOld(at)],
  }
}
