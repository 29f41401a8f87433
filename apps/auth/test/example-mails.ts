import { composeSignInCodeMail } from '../src/sign-in/sign-in-code-mail.ts'
import {
  composeConfirmedMail,
  composeLinkMail,
  composeRevokedMail,
} from '../src/verifications/verification-mails.ts'

const REGISTERED_AT = new Date('2026-11-20T12:00:00Z')
const ADDRESS = 'ana@example.org'
const EXPIRES_AT = new Date('2026-12-20T12:00:00Z')
const AGENT = {
  name: 'Atlas',
  verifiedDomain: undefined,
  registeredAt: REGISTERED_AT,
  verifiedAt: REGISTERED_AT,
  expiresAt: EXPIRES_AT,
}
const AGENT_WITH_DOMAIN = { ...AGENT, name: undefined, verifiedDomain: 'agent.example.org' }
/** One app for each kind of host that a mail can name: a web app, a program on the person's computer, and a custom scheme. */
const APPS = ['claude.ai', 'loopback', 'cursor:'].map((appHost) => ({ ...AGENT, appHost }))
const LINK = 'https://plainpath.example/claim?attempt=secret'

/** Composes an example of each kind of mail of the authorization server, with variants. `e2e/rules` checks their texts. */
export const composeExampleMails = () => [
  composeLinkMail({
    id: 'cla_example',
    email: ADDRESS,
    matchPhrase: 'amber river',
    url: LINK,
    network: '127.0.0.1',
  }),
  ...APPS.map(({ appHost }) =>
    composeSignInCodeMail({
      id: 'cla_example',
      email: ADDRESS,
      code: '493027',
      appHost,
      origin: 'https://plainpath.example',
      network: '127.0.0.1',
    }),
  ),
  ...[AGENT, AGENT_WITH_DOMAIN, ...APPS].map((agent) =>
    composeConfirmedMail(
      { id: 'clm_example', verifiedAt: REGISTERED_AT, expiresAt: EXPIRES_AT },
      { to: ADDRESS, agent, url: LINK },
    ),
  ),
  ...(['person', 'agent', 'superseded', 'agent-deleted', 'operator'] as const).map((cause) =>
    composeRevokedMail({
      verificationId: 'clm_example',
      to: ADDRESS,
      agent: AGENT,
      cause,
      revokedAt: EXPIRES_AT,
    }),
  ),
  ...(['person', 'agent', 'operator', 'reused'] as const).flatMap((cause) =>
    APPS.slice(0, 2).map((agent) =>
      composeRevokedMail({ verificationId: 'clm_example', to: ADDRESS, agent, cause, revokedAt: EXPIRES_AT }),
    ),
  ),
]
