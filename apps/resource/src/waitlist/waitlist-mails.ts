import { durationIn, RULES } from '@plainpath/domain'
import type { MailContent } from '@plainpath/mail'
import { readTemplate, type ServiceUrls } from '@plainpath/metadata'

const fillJoinedTemplate = readTemplate(new URL('./joined-mail.template.txt', import.meta.url), [
  'urls',
  'confirmSecret',
  'removeSecret',
  'referralLink',
])
const fillRemovalTemplate = readTemplate(
  new URL('./forget-mail.template.txt', import.meta.url),
  ['urls', 'removeSecret'],
  { linkLifetime: durationIn('day', RULES.forgetLinkMs) },
)

/**
 * Composes the mail to a person who joined. Its text contains nothing that the caller sent, so that nobody can send words of
 * their own through us.
 */
export const composeJoinedMail = (
  urls: ServiceUrls,
  entry: { email: string; referralSlug: string; confirmSecret: string; removeSecret: string },
): MailContent => ({
  to: entry.email,
  subject: 'Confirm that you want to be on the Plainpath waitlist',
  text: fillJoinedTemplate({
    urls,
    confirmSecret: entry.confirmSecret,
    removeSecret: entry.removeSecret,
    referralLink: urls.referral(entry.referralSlug),
  }),
})

/** Composes the mail that asks the owner of a mailbox whether to remove it from the waitlist. */
export const composeRemovalMail = (
  urls: ServiceUrls,
  removal: { email: string; removeSecret: string },
): MailContent => ({
  to: removal.email,
  subject: 'Take this address off the Plainpath waitlist',
  text: fillRemovalTemplate({ urls, removeSecret: removal.removeSecret }),
})
