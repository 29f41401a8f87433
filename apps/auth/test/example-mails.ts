import { claimConfirmedMail, claimLinkMail } from '../src/claims/claim-mails.ts'

const DAY = new Date('2026-11-20T12:00:00Z')
const ADDRESS = 'ana@example.org'
const LINK = 'https://plainpath.example/claim?attempt=secret'

/** Each mail that the authorization server sends. */
export const exampleMails = () => [
  claimLinkMail({
    id: 'cla_example',
    email: ADDRESS,
    matchPhrase: 'amber river',
    url: LINK,
    network: '127.0.0.1',
  }),
  claimConfirmedMail(
    { id: 'clm_example', agentId: 'agt_example', verifiedAt: DAY, expiresAt: DAY },
    { to: ADDRESS, agentRegisteredAt: DAY, url: LINK },
  ),
]
