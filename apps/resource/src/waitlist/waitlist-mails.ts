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

/** The mail to somebody who joined. Nothing in it comes from whoever asked but the address it goes to. */
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

/** The mail to somebody who, or for whom somebody, asked to be taken off. */
export const forgetMail = (
  urls: ServiceUrls,
  about: { email: string; removeSecret: string },
): MailContent => ({
  to: about.email,
  subject: 'Take this address off the Plainpath waitlist',
  text: forgetText({ urls, removeSecret: about.removeSecret }),
})
