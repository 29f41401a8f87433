import { type MailServer, type ReceivedMail, startMailServer } from '@plainpath/mail/testing'
import { identifyMail } from '../system/mail-load.ts'

export interface FaultyMailServer extends MailServer {
  /** Makes it refuse each mail temporarily (450), like a server that greylists or has no space; or accept all again. */
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

/** Finds mails that were sent again under another Message-ID. */
export function sentAsSeveral(received: readonly ReceivedMail[]): string[] {
  const several = [...Map.groupBy(received, identifyMail).values()].filter(
    (mails) => new Set(mails.map(({ messageId }) => messageId)).size > 1,
  )
  return several.length === 0 ? [] : [`${several.length} mails were sent again under another Message-ID`]
}
