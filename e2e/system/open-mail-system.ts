import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { createMailSettings, verifyMailbox } from '../verification-steps.ts'
import { openSystem, type System } from './open-system.ts'

/** The whole topology, with a mail server for both apps. */
export interface MailSystem extends System {
  readonly mail: MailServer
}

/**
 * Starts the topology and the mail server. Disposing stops both.
 *
 * @param options.delaysGreeting whether the mail server waits 100 ms before it greets a client, which makes deliveries slower
 */
export async function openMailSystem({
  delaysGreeting = false,
  ...options
}: {
  limitsFactor: number
  delaysGreeting?: boolean
}): Promise<MailSystem> {
  await using opening = new AsyncDisposableStack()
  const mail = opening.use(await startMailServer({ delaysGreeting }))
  const system = opening.use(await openSystem({ ...options, settings: createMailSettings(mail) }))
  const resources = opening.move()
  return { ...system, mail, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

/** Registers an agent, and verifies the mailbox for it over HTTP. @returns a token with `contact:write` */
export async function obtainContactToken(system: MailSystem, email: string): Promise<string> {
  const sender = system.createSender({ from: '127.0.0.101' })
  return verifyMailbox(await system.register(sender), email, { mail: system.mail, sender })
}
