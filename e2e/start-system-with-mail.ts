import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { type System, type SystemOptions, startSystem } from './in-process/start-system.ts'
import { createSender } from './send.ts'
import { createMailSettings, showCode, waitForMailedLink } from './verification-steps.ts'

export interface SystemWithMail extends System {
  readonly mail: MailServer
  /** Presses the button on the mailed page, as a person does if the two words match. @returns the shown code */
  confirm(email: string, phrase: string): Promise<string>
}

/**
 * Starts both apps in this process, with a mail server. Messages are held for ten minutes, the default, so that tests can
 * withdraw them.
 */
export async function startSystemWithMail(options: SystemOptions = {}): Promise<SystemWithMail> {
  await using opening = new AsyncDisposableStack()
  const mail = opening.use(await startMailServer())
  const env = { ...createMailSettings(mail), RESOURCE_CONTACT_HOLD: '10', ...options.env }
  const system = opening.use(await startSystem({ ...options, env }))
  const resources = opening.move()
  return {
    ...system,
    mail,
    async confirm(email, phrase) {
      using sender = createSender(system.origin)
      return await showCode(sender, await waitForMailedLink({ mail }, email, phrase))
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
