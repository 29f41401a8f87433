import { durationIn, RULES } from '@plainpath/domain'
import { readTemplate } from '@plainpath/metadata'
import { referToApp } from '@plainpath/pages'
import type { VerificationMail } from '../verifications/verification-attempt-store.ts'

const renderCodeText = readTemplate(
  new URL('./sign-in-code-mail.template.txt', import.meta.url),
  ['host', 'code', 'app'],
  { codeLifetime: durationIn('minute', RULES.verificationCodeMs) },
)

/**
 * Composes the mail that contains the code of a sign-in. It has no link, because mail scanners open links. It describes the app
 * only by its host, by its scheme, or as a program on a computer or phone, and contains no other text from the app, because
 * anybody can request the mail for any address.
 *
 * @param signIn.id the id of the sign-in attempt
 * @param signIn.email the address to which the code is sent
 * @param signIn.code the six digits
 * @param signIn.appHost the destination of the app's redirect URI, as `formatAppHost` returns it: a host, a scheme or `loopback`
 * @param signIn.origin the origin of auth, whose host the mail names
 * @param signIn.network the widest network of the browser's address (the last one of `listNetworks`)
 */
export const composeSignInCodeMail = (signIn: {
  id: string
  email: string
  code: string
  appHost: string
  origin: string
  network: string
}): VerificationMail => ({
  kind: 'sign-in-code',
  about: signIn.id,
  requesterNetwork: signIn.network,
  // A person is waiting for this mail, so the queue must send it before other mails.
  isRequestedByPerson: true,
  to: signIn.email,
  subject: 'Your sign-in code for Plainpath',
  text: renderCodeText({
    host: new URL(signIn.origin).host,
    code: `${signIn.code.slice(0, 3)} ${signIn.code.slice(3)}`,
    app: referToApp(signIn.appHost, { inMail: true }),
  }),
})
