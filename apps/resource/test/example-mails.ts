import { createServiceUrls } from '@plainpath/metadata'
import {
  composeConfirmMail,
  composeReceiptMail,
  composeStaffMail,
  composeWithdrawnMail,
} from '../src/contact/contact-mails.ts'
import { composeJoinedMail, composeRemovalMail } from '../src/waitlist/waitlist-mails.ts'

const ADDRESS = 'ana@example.org'
const DAY = new Date('2026-11-20T12:00:00Z')
const AGENT = {
  name: 'Atlas',
  registeredAt: DAY,
  verifiedAt: DAY,
  expiresAt: new Date('2026-12-20T12:00:00Z'),
  endSecret: 'secret',
}
const { name: _name, ...AGENT_WITH_DOMAIN } = { ...AGENT, verifiedDomain: 'agent.example.org' }

/** Composes an example of each kind of mail that the API sends, with variants. `e2e/rules` checks their texts. */
export function composeExampleMails() {
  const urls = createServiceUrls('https://plainpath.example')
  const message = {
    id: 'example',
    topic: 'question',
    text: 'When do I renew it?',
    guideSlug: null,
    triggers: ['detention-ice', 'criminal-history'],
    agentDomain: null,
    replyTo: ADDRESS,
    createdAt: DAY,
  } as const
  const withdrawnMessage = { ...message, mayBeDelivered: false }
  return [
    composeJoinedMail(urls, {
      email: ADDRESS,
      referralSlug: 'example',
      confirmSecret: 'secret',
      removeSecret: 'secret',
    }),
    composeRemovalMail(urls, { email: ADDRESS, removeSecret: 'secret' }),
    composeStaffMail('desk@plainpath.example', message, 'person'),
    composeStaffMail('desk@plainpath.example', message, { agent: AGENT_WITH_DOMAIN }),
    ...[{ agent: AGENT }, { agent: AGENT_WITH_DOMAIN }, { agent: undefined }, 'person' as const].map(
      (writer) =>
        composeReceiptMail(urls, {
          ...message,
          receivedAt: DAY,
          heldUntil: new Date('2026-11-20T12:07:00Z'),
          secret: 'secret',
          writer,
        }),
    ),
    composeWithdrawnMail(urls, withdrawnMessage),
    composeWithdrawnMail(urls, { ...withdrawnMessage, mayBeDelivered: true }),
    composeWithdrawnMail(urls, { ...withdrawnMessage, agentDomain: AGENT_WITH_DOMAIN.verifiedDomain }),
    composeWithdrawnMail(urls, { ...withdrawnMessage, agent: { ...AGENT, appHost: 'claude.ai' } }),
    composeConfirmMail(urls, { replyTo: ADDRESS, secret: 'secret' }),
  ]
}
