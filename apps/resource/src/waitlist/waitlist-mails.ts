import type { MailContent } from '@plainpath/mail'
import type { ServiceUrls } from '@plainpath/metadata'

/** The mail to somebody who joined. Nothing in it comes from whoever asked but the address it goes to. */
export const joinedMail = (
  urls: ServiceUrls,
  about: { email: string; referralSlug: string; confirmSecret: string; removeSecret: string },
): MailContent => ({
  to: about.email,
  subject: 'Confirm that you want to be on the Plainpath waitlist',
  text: `Somebody put this address on the Plainpath waitlist.

If that was you, or an agent that you asked to, confirm it here:
${linkTo(urls, 'confirm', about.confirmSecret)}

If it was not you, or you want to leave, take the address off the list here:
${linkTo(urls, 'remove', about.removeSecret)}

If you do nothing, the address stays on the list.

This is your own link to share. Whoever joins through it and confirms counts for you:
${urls.referral(about.referralSlug)}

Opening a link changes nothing: each page asks first.
Plainpath gives information about U.S. immigration. It is not a law firm and not the government.
`,
})

/** The mail to somebody who, or for whom somebody, asked to be taken off. */
export const forgetMail = (
  urls: ServiceUrls,
  about: { email: string; removeSecret: string },
): MailContent => ({
  to: about.email,
  subject: 'Take this address off the Plainpath waitlist',
  text: `Somebody asked to take this address off the Plainpath waitlist.

If you want that, open this page within 7 days and press its button:
${linkTo(urls, 'remove', about.removeSecret)}

If you do not, ignore this mail. The address stays on the list.
`,
})

const linkTo = (urls: ServiceUrls, page: 'confirm' | 'remove', secret: string) =>
  `${urls.origin}/waitlist/${page}?link=${secret}`
