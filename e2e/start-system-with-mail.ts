import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { type System, type SystemOptions, startSystem } from './in-process/start-system.ts'
import { mailedLink, mailSettings, showCode } from './lend-mailbox-to.ts'
import { createSender } from './send.ts'

export interface SystemWithMail extends System {
  readonly mail: MailServer
  /** Opens the mailed link as a person who has compared the two words. @returns the code that the page shows */
  confirm(email: string, phrase: string): Promise<string>
}

/** Starts both apps in this process, with a mail server. Messages are delayed by ten minutes, as in production. */
export async function startSystemWithMail(options: SystemOptions = {}): Promise<SystemWithMail> {
  await using opening = new AsyncDisposableStack()
  const mail = opening.use(await startMailServer())
  const env = { ...mailSettings(mail), RESOURCE_CONTACT_HOLD: '10', ...options.env }
  const system = opening.use(await startSystem({ ...options, env }))
  const resources = opening.move()
  return {
    ...system,
    mail,
    async confirm(email, phrase) {
      using sender = createSender(system.origin)
      return await showCode(sender, await mailedLink({ mail }, email, phrase))
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
