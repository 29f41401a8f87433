import { durationIn, RULES } from '@plainpath/domain'
import type { MailHandler } from '@plainpath/mail'
import { readTemplate } from '@plainpath/metadata'
import { describeAgentInMail, longDate } from '@plainpath/pages'
import type { Claim, ConfirmedAgent } from './claim.ts'
import type { ClaimAttemptStore, ClaimMail } from './postgres-claim-attempts.ts'

const linkText = readTemplate(
  new URL('./claim-link-mail.template.txt', import.meta.url),
  ['origin', 'matchPhrase', 'link'],
  {
    claimLasts: durationIn('day', RULES.claimMs),
    linkLasts: durationIn('hour', RULES.claimLinkMs),
    blockLasts: durationIn('day', RULES.claimBlockMs),
  },
)
const confirmedText = readTemplate(new URL('./claim-confirmed-mail.template.txt', import.meta.url), [
  'agent',
  'since',
  'until',
  'link',
  'origin',
])
const connectedText = readTemplate(new URL('./app-connected-mail.template.txt', import.meta.url), [
  'agent',
  'since',
  'until',
  'link',
  'origin',
])
const endedText = readTemplate(
  new URL('./claim-ended-mail.template.txt', import.meta.url),
  ['cause', 'agent', 'access'],
  { keptLasts: durationIn('day', RULES.deliveredMessageMs) },
)
const appEndedText = readTemplate(
  new URL('./app-ended-mail.template.txt', import.meta.url),
  ['cause', 'agent', 'access', 'next'],
  { keptLasts: durationIn('day', RULES.deliveredMessageMs) },
)

/** Composes the mail with the link. It contains no text from the agent, not even its name: otherwise anyone could send mail to anybody. */
export const claimLinkMail = (about: {
  id: string
  email: string
  matchPhrase: string
  url: string
  network: string
}): ClaimMail => ({
  kind: 'claim-link',
  about: about.id,
  sender: about.network,
  to: about.email,
  subject: 'Did you ask an AI agent to use Plainpath for you?',
  text: linkText({ origin: readOrigin(about.url), matchPhrase: about.matchPhrase, link: about.url }),
})

/** Composes the mail to a person who gave an agent or an app access. @param given.url ends the access */
export const claimConfirmedMail = (
  claim: Pick<Claim, 'id' | 'verifiedAt' | 'expiresAt'>,
  given: {
    to: string
    agent: Pick<ConfirmedAgent, 'name' | 'verifiedDomain' | 'appHost' | 'registeredAt'>
    url: string
  },
): ClaimMail => ({
  kind: 'claim-confirmed',
  about: claim.id,
  to: given.to,
  subject: `${given.agent.appHost === undefined ? 'An AI agent' : 'An app'} can now send us messages for you`,
  text: (given.agent.appHost === undefined ? confirmedText : connectedText)({
    agent: describeAgentInMail(given.agent),
    since: longDate(claim.verifiedAt),
    until: longDate(claim.expiresAt),
    link: given.url,
    origin: readOrigin(given.url),
  }),
})

const readOrigin = (url: string) => new URL(url).origin

/** How an agent's access ended. A claim that expires ends on the day that an earlier mail named, without another mail. */
export type EndCause = Exclude<NonNullable<Claim['endedBy']>, 'expired'>

/** An agent that a person with another address confirmed gave up the first person's access: that there is another person is said to nobody. */
const GAVE_UP = 'An AI agent gave up its access to Plainpath for you.'
const CAUSES: Readonly<Record<EndCause, string>> = {
  person: "You ended an AI agent's access to Plainpath.",
  agent: GAVE_UP,
  superseded: GAVE_UP,
  'agent-deleted': 'The registration of an AI agent that had access to Plainpath for you was deleted.',
  operator: "Our staff ended an AI agent's access to Plainpath for you.",
  // Only an app has what can be used again.
  reused: 'We ended the access of an AI agent to Plainpath for you.',
}

const APP_GAVE_UP = 'An app gave up its access to Plainpath for you.'
const APP_CAUSES: Readonly<Record<EndCause, string>> = {
  person: "You ended an app's access to Plainpath.",
  agent: APP_GAVE_UP,
  superseded: APP_GAVE_UP,
  'agent-deleted': "Our staff ended an app's access to Plainpath for you.",
  operator: "Our staff ended an app's access to Plainpath for you.",
  reused: `We ended an app's access to Plainpath for you, because somebody used an old key of the
app again. The app may have made a mistake, or somebody may have copied the key.`,
}

const NOTHING_TO_DO = 'You do not need to do anything.'
const CONNECT_AGAIN =
  'If you still use the app, connect it again. If you do not know why this happened, do not.'

/** Composes the mail that tells a person that an agent's access has ended. */
export const claimEndedMail = (given: {
  claimId: string
  to: string
  agent: ConfirmedAgent
  by: EndCause
  endedAt: Date
}): ClaimMail => ({
  kind: 'claim-ended',
  about: given.claimId,
  to: given.to,
  ...endedContent(given),
})

function endedContent({ agent, by, endedAt }: { agent: ConfirmedAgent; by: EndCause; endedAt: Date }) {
  const about = {
    agent: describeAgentInMail(agent),
    access: accessLine(longDate(agent.verifiedAt), longDate(endedAt)),
  }
  if (agent.appHost === undefined)
    return {
      subject: 'An AI agent can no longer send us messages for you',
      text: endedText({ cause: CAUSES[by], ...about }),
    }
  return {
    subject: 'An app can no longer send us messages for you',
    text: appEndedText({
      cause: APP_CAUSES[by],
      ...about,
      next: by === 'reused' ? CONNECT_AGAIN : NOTHING_TO_DO,
    }),
  }
}

const accessLine = (since: string, ended: string) =>
  since === ended ? `It had access on ${ended}.` : `It had access from ${since} to ${ended}.`

/**
 * Creates the handlers of claim mails. A code that could not be mailed while it works is not mailed later. The mails that confirm an agent's access and its end are exempt from all caps: there
 * is one of each for a claim, which follows a link mail that was counted, and they are how a person learns of access that
 * they did not intend, can end it, and learns that it has ended.
 */
export const claimMailHandlers = (deps: {
  attempts: Pick<ClaimAttemptStore, 'wantsMail' | 'mailSettled' | 'renewLink'>
  now: () => Date
}): Record<ClaimMail['kind'], MailHandler> => ({
  'claim-link': {
    isWanted: (attemptId) => deps.attempts.wantsMail(attemptId, deps.now()),
    maxWaitMs: RULES.dayMailWaitsMs,
    renew: (attemptId, now) => deps.attempts.renewLink(attemptId, now),
    onSettled: (tx, attemptId, outcome) => deps.attempts.mailSettled(tx, attemptId, outcome),
  },
  'sign-in-code': {
    isWanted: (attemptId) => deps.attempts.wantsMail(attemptId, deps.now()),
    maxWaitMs: RULES.claimCodeMs,
  },
  'claim-confirmed': { capped: false },
  'claim-ended': { capped: false },
})
