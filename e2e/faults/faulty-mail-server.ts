import { type MailServer, type ReceivedMail, startMailServer } from '@plainpath/mail/testing'
import { nameOfMail } from '../system/mail-load.ts'

export interface FaultyMailServer extends MailServer {
  /** From now on it takes no mail and says "later" (450) to each, as one that greylists or has no room; or takes all. */
  putOff(later: boolean): void
}

export async function startFaultyMailServer(): Promise<FaultyMailServer> {
  let later = false
  const server = await startMailServer({
    onMailFrom: (_address, _session, done) =>
      later ? done(Object.assign(new Error('later'), { responseCode: 450 })) : done(),
  })
  return Object.assign(server, {
    putOff(next: boolean) {
      later = next
    },
  })
}

/** Mails that are one, sent as several. */
export function sentAsSeveral(received: readonly ReceivedMail[]): string[] {
  const several = [...Map.groupBy(received, nameOfMail).values()].filter(
    (mails) => new Set(mails.map(({ messageId }) => messageId)).size > 1,
  )
  return several.length === 0 ? [] : [`${several.length} mails were sent again under another Message-ID`]
}
