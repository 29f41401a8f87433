import { serviceUrls } from '@plainpath/metadata'
import { confirmMail, deskMail, receiptMail, withdrawnMail } from '../src/contact/contact-mails.ts'
import { forgetMail, joinedMail } from '../src/waitlist/waitlist-mails.ts'

const ADDRESS = 'ana@example.org'
const DAY = new Date('2026-11-20T12:00:00Z')
const AGENT = {
  name: 'Atlas',
  registeredAt: DAY,
  verifiedAt: DAY,
  expiresAt: new Date('2026-12-20T12:00:00Z'),
  endSecret: 'secret',
}

/** Each mail that the API sends. */
export function exampleMails() {
  const urls = serviceUrls('https://plainpath.example')
  const message = {
    id: 'example',
    topic: 'question',
    text: 'When do I renew it?',
    guideSlug: null,
    triggers: ['detention-ice', 'criminal-history'],
    replyTo: ADDRESS,
    createdAt: DAY,
  } as const
  return [
    joinedMail(urls, {
      email: ADDRESS,
      referralSlug: 'example',
      confirmSecret: 'secret',
      removeSecret: 'secret',
    }),
    forgetMail(urls, { email: ADDRESS, removeSecret: 'secret' }),
    deskMail('desk@plainpath.example', message, 'person'),
    ...[{ agent: AGENT }, { agent: undefined }, 'person' as const].map((writer) =>
      receiptMail(urls, {
        ...message,
        receivedAt: DAY,
        heldUntil: new Date('2026-11-20T12:07:00Z'),
        secret: 'secret',
        writer,
      }),
    ),
    withdrawnMail(message),
    confirmMail(urls, { replyTo: ADDRESS, secret: 'secret' }),
  ]
}
