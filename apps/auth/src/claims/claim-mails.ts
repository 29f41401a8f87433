import { durationIn, RULES } from '@plainpath/domain'
import type { MailHandler } from '@plainpath/mail'
import { readTemplate } from '@plainpath/metadata'
import { longDate } from '@plainpath/pages'
import type { Claim } from './claim.ts'
import type { ClaimAttemptStore, ClaimMail } from './postgres-claim-attempts.ts'

const linkText = readTemplate(
  new URL('./claim-link-mail.template.txt', import.meta.url),
  ['matchPhrase', 'link'],
  {
    claimLasts: durationIn('day', RULES.claimMs),
    linkLasts: durationIn('hour', RULES.claimLinkMs),
    blockLasts: durationIn('day', RULES.claimBlockMs),
  },
)
const confirmedText = readTemplate(new URL('./claim-confirmed-mail.template.txt', import.meta.url), [
  'until',
  'registered',
  'link',
])

/** Composes the mail with the link. It contains no text from the agent, not even its name: otherwise anyone could send mail to anybody. */
export const claimLinkMail = (given: {
  id: string
  email: string
  matchPhrase: string
  url: string
  network: string
}): ClaimMail => ({
  kind: 'claim-link',
  about: given.id,
  sender: given.network,
  to: given.email,
  subject: 'Did you ask an AI agent to use Plainpath for you?',
  text: linkText({ matchPhrase: given.matchPhrase, link: given.url }),
})

export const claimConfirmedMail = (
  claim: Claim,
  given: { to: string; agentRegisteredAt: Date; url: string },
): ClaimMail => ({
  kind: 'claim-confirmed',
  about: claim.id,
  to: given.to,
  subject: 'An AI agent can now use Plainpath for you',
  text: confirmedText({
    until: longDate(claim.expiresAt),
    registered: longDate(given.agentRegisteredAt),
    link: given.url,
  }),
})

/**
 * Creates the handlers of claim mails. The confirmation is exempt from all caps: each follows a link mail that was
 * counted, and it is how a person learns of a claim that they did not intend and can revoke it.
 */
export const claimMailHandlers = (deps: {
  attempts: Pick<ClaimAttemptStore, 'wantsMail' | 'mailSettled' | 'renewLink'>
  now: () => Date
}): Record<ClaimMail['kind'], MailHandler> => ({
  'claim-link': {
    wanted: (attemptId) => deps.attempts.wantsMail(attemptId, deps.now()),
    maxWaitMs: RULES.dayMailWaitsMs,
    renew: (attemptId, now) => deps.attempts.renewLink(attemptId, now),
    settled: (tx, attemptId, outcome) => deps.attempts.mailSettled(tx, attemptId, outcome),
  },
  'claim-confirmed': { capped: false },
})
