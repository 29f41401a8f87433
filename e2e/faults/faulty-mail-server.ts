import { type MailServer, type ReceivedMail, startMailServer } from '@plainpath/mail/testing'
import { identifyMail } from '../system/mail-load.ts'

export interface FaultyMailServer extends MailServer {
  /** Sets whether the server temporarily refuses every mail (450), like a server that greylists or has no space. */
  setRefusing(isRefusing: boolean): void
}

export async function startFaultyMailServer(): Promise<FaultyMailServer> {
  let isRefusing = false
  const server = await startMailServer({
    onMailFrom: (_address, _session, callback) =>
      isRefusing ? callback(Object.assign(new Error('later'), { responseCode: 450 })) : callback(),
  })
  return Object.assign(server, {
    setRefusing(shouldRefuse: boolean) {
      isRefusing = shouldRefuse
    },
  })
}

/**
 * Returns a line about the mails that arrived again under another Message-ID; an empty list if there are none. The service may
 * deliver a mail several times, but always under the same Message-ID.
 */
export function describeResentMails(received: readonly ReceivedMail[]): string[] {
  const resentMails = [...Map.groupBy(received, identifyMail).values()].filter(
    (mails) => new Set(mails.map(({ messageId }) => messageId)).size > 1,
  )
  return resentMails.length === 0
    ? []
    : [`${resentMails.length} mails were sent again under another Message-ID`]
}
