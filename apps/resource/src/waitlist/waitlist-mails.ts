import { durationIn, RULES } from '@plainpath/domain'
import type { MailContent } from '@plainpath/mail'
import { readTemplate, type ServiceUrls } from '@plainpath/metadata'

const joinedText = readTemplate(new URL('./joined-mail.template.txt', import.meta.url), [
  'urls',
  'confirmSecret',
  'removeSecret',
  'referralLink',
])
const forgetText = readTemplate(
  new URL('./forget-mail.template.txt', import.meta.url),
  ['urls', 'removeSecret'],
  { linkLasts: durationIn('day', RULES.forgetLinkMs) },
)

/** Composes the mail to a person who joined. It contains nothing from the request except the address that it is sent to. */
export const joinedMail = (
  urls: ServiceUrls,
  about: { email: string; referralSlug: string; confirmSecret: string; removeSecret: string },
): MailContent => ({
  to: about.email,
  subject: 'Confirm that you want to be on the Plainpath waitlist',
  text: joinedText({
    urls,
    confirmSecret: about.confirmSecret,
    removeSecret: about.removeSecret,
    referralLink: urls.referral(about.referralSlug),
  }),
})

/** Composes the mail that asks the owner of a mailbox whether to remove it from the waitlist. */
export const forgetMail = (
  urls: ServiceUrls,
  about: { email: string; removeSecret: string },
): MailContent => ({
  to: about.email,
  subject: 'Take this address off the Plainpath waitlist',
  text: forgetText({ urls, removeSecret: about.removeSecret }),
})
