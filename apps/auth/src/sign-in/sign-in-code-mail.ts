import { durationIn, RULES } from '@plainpath/domain'
import { readTemplate } from '@plainpath/metadata'
import { referToApp } from '@plainpath/pages'
import type { ClaimMail } from '../claims/postgres-claim-attempts.ts'

const codeText = readTemplate(
  new URL('./sign-in-code-mail.template.txt', import.meta.url),
  ['host', 'code', 'app'],
  { codeLasts: durationIn('minute', RULES.claimCodeMs) },
)

/**
 * Composes the mail with the code of a sign-in. It has no link, which scanners open, and nothing that the app said of
 * itself, since anybody can type in an address. A person waits for it, so it goes before other mails.
 *
 * @param about.id of the attempt
 * @param about.code six digits
 * @param about.network of the browser, as `addressNetworks` returns it
 */
export const signInCodeMail = (about: {
  id: string
  email: string
  code: string
  appHost: string
  origin: string
  network: string
}): ClaimMail => ({
  kind: 'sign-in-code',
  about: about.id,
  sender: about.network,
  askedFor: true,
  to: about.email,
  subject: 'Your code for Plainpath',
  text: codeText({
    host: new URL(about.origin).host,
    code: `${about.code.slice(0, 3)} ${about.code.slice(3)}`,
    app: referToApp(about.appHost, { inMail: true }),
  }),
})
