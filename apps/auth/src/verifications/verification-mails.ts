import { durationIn, RULES } from '@plainpath/domain'
import type { MailHandler } from '@plainpath/mail'
import { readTemplate } from '@plainpath/metadata'
import { describeAgentInMail, formatLongDate } from '@plainpath/pages'
import type { ConfirmedAgent, Verification } from './verification.ts'
import type { VerificationAttemptStore, VerificationMail } from './verification-attempt-store.ts'

const renderLinkText = readTemplate(
  new URL('./claim-link-mail.template.txt', import.meta.url),
  ['origin', 'matchPhrase', 'link'],
  {
    verificationLifetime: durationIn('day', RULES.verificationMs),
    linkLifetime: durationIn('hour', RULES.verificationLinkMs),
    blockDuration: durationIn('day', RULES.verificationBlockMs),
  },
)
const renderConfirmedText = readTemplate(new URL('./claim-confirmed-mail.template.txt', import.meta.url), [
  'agent',
  'since',
  'until',
  'link',
  'origin',
])
const renderAppConfirmedText = readTemplate(new URL('./app-connected-mail.template.txt', import.meta.url), [
  'agent',
  'since',
  'until',
  'link',
  'origin',
])
const renderRevokedText = readTemplate(
  new URL('./claim-ended-mail.template.txt', import.meta.url),
  ['cause', 'agent', 'access'],
  { addressRetention: durationIn('day', RULES.deliveredMessageMs) },
)
const renderAppRevokedText = readTemplate(
  new URL('./app-ended-mail.template.txt', import.meta.url),
  ['cause', 'agent', 'access', 'next'],
  { addressRetention: durationIn('day', RULES.deliveredMessageMs) },
)

/**
 * Composes the mail that asks a person to confirm an agent. Anybody can register an agent, so the mail contains no text from the
 * agent, not even its name.
 *
 * @param facts.id the id of the attempt
 * @param facts.url the link to the page that shows the code
 * @param facts.network the network of the agent that requested the mail
 */
export const composeLinkMail = (facts: {
  id: string
  email: string
  matchPhrase: string
  url: string
  network: string
}): VerificationMail => ({
  kind: 'claim-link',
  about: facts.id,
  requesterNetwork: facts.network,
  to: facts.email,
  subject: 'Did you ask an AI agent to use Plainpath for you?',
  text: renderLinkText({ origin: readOrigin(facts.url), matchPhrase: facts.matchPhrase, link: facts.url }),
})

/**
 * Composes the mail to a person who gave an agent or an app access.
 *
 * @param facts.url the link that revokes the access
 */
export const composeConfirmedMail = (
  verification: Pick<Verification, 'id' | 'verifiedAt' | 'expiresAt'>,
  facts: {
    to: string
    agent: Pick<ConfirmedAgent, 'name' | 'verifiedDomain' | 'appHost' | 'registeredAt'>
    url: string
  },
): VerificationMail => ({
  kind: 'claim-confirmed',
  about: verification.id,
  to: facts.to,
  subject: `${facts.agent.appHost === undefined ? 'An AI agent' : 'An app'} can now send us messages for you`,
  text: (facts.agent.appHost === undefined ? renderConfirmedText : renderAppConfirmedText)({
    agent: describeAgentInMail(facts.agent),
    since: formatLongDate(verification.verifiedAt),
    until: formatLongDate(verification.expiresAt),
    link: facts.url,
    origin: readOrigin(facts.url),
  }),
})

const readOrigin = (url: string) => new URL(url).origin

/** The causes of a revocation that is mailed to the person. An expiry causes no mail, since an earlier mail contains its date. */
export type RevocationCause = Exclude<NonNullable<Verification['endedBy']>, 'expired'>

/** Also used for `superseded`: a person with another address confirmed the agent, which the mail must not reveal. */
const AGENT_GAVE_UP = 'An AI agent gave up its access to Plainpath for you.'
const AGENT_CAUSES: Readonly<Record<RevocationCause, string>> = {
  person: "You ended an AI agent's access to Plainpath.",
  agent: AGENT_GAVE_UP,
  superseded: AGENT_GAVE_UP,
  'agent-deleted': 'The registration of an AI agent that had access to Plainpath for you was deleted.',
  operator: "Our staff ended an AI agent's access to Plainpath for you.",
  // This text is never sent, since only apps have codes and refresh tokens that can be reused.
  reused: 'We ended the access of an AI agent to Plainpath for you.',
}

const APP_GAVE_UP = 'An app gave up its access to Plainpath for you.'
const APP_CAUSES: Readonly<Record<RevocationCause, string>> = {
  person: "You ended an app's access to Plainpath.",
  agent: APP_GAVE_UP,
  // This text is never sent, since a connection has only one verification.
  superseded: APP_GAVE_UP,
  'agent-deleted': "Our staff ended an app's access to Plainpath for you.",
  operator: "Our staff ended an app's access to Plainpath for you.",
  reused: `We ended an app's access to Plainpath for you, because somebody used an old key of the
app again. The app may have made a mistake, or somebody may have copied the key.`,
}

const NOTHING_TO_DO = 'You do not need to do anything.'
const CONNECT_AGAIN =
  'If you still use the app, connect it again. If you do not know why this happened, do not.'

/** Composes the mail that says that an agent or an app no longer has access. */
export const composeRevokedMail = (facts: {
  verificationId: string
  to: string
  agent: ConfirmedAgent
  cause: RevocationCause
  revokedAt: Date
}): VerificationMail => ({
  kind: 'claim-ended',
  about: facts.verificationId,
  to: facts.to,
  ...composeRevokedContent(facts),
})

function composeRevokedContent({
  agent,
  cause,
  revokedAt,
}: {
  agent: ConfirmedAgent
  cause: RevocationCause
  revokedAt: Date
}) {
  const facts = {
    agent: describeAgentInMail(agent),
    access: describeAccessPeriod(formatLongDate(agent.verifiedAt), formatLongDate(revokedAt)),
  }
  if (agent.appHost === undefined)
    return {
      subject: 'An AI agent can no longer send us messages for you',
      text: renderRevokedText({ cause: AGENT_CAUSES[cause], ...facts }),
    }
  return {
    subject: 'An app can no longer send us messages for you',
    text: renderAppRevokedText({
      cause: APP_CAUSES[cause],
      ...facts,
      next: cause === 'reused' ? CONNECT_AGAIN : NOTHING_TO_DO,
    }),
  }
}

const describeAccessPeriod = (firstDay: string, lastDay: string) =>
  firstDay === lastDay ? `It had access on ${lastDay}.` : `It had access from ${firstDay} to ${lastDay}.`

/** Creates the handlers of verification mails. */
export const createVerificationMailHandlers = (deps: {
  attempts: Pick<VerificationAttemptStore, 'isMailWanted' | 'recordMailOutcome' | 'renewLink'>
  now: () => Date
}): Record<VerificationMail['kind'], MailHandler> => ({
  'claim-link': {
    isWanted: (attemptId) => deps.attempts.isMailWanted(attemptId, deps.now()),
    maxWaitMs: RULES.dayMailWaitsMs,
    renew: (attemptId, now) => deps.attempts.renewLink(attemptId, now),
    onSettled: (tx, attemptId, outcome) => deps.attempts.recordMailOutcome(tx, attemptId, outcome),
  },
  'sign-in-code': {
    isWanted: (attemptId) => deps.attempts.isMailWanted(attemptId, deps.now()),
    // A code is not mailed after it has expired.
    maxWaitMs: RULES.verificationCodeMs,
  },
  // No cap applies to the mails about the beginning and the end of access: a person needs them to notice and end
  // unintended access. A verification causes at most one of each. Each follows a mail that did count against the caps.
  'claim-confirmed': { isCapped: false },
  'claim-ended': { isCapped: false },
})
