import type { MailHandler } from '@plainpath/mail'
import { longDate } from '@plainpath/pages'
import type { Claim } from './claim.ts'
import type { ClaimAttemptStore, ClaimMail } from './postgres-claim-attempts.ts'

/** Nothing in a mail comes from the agent, not even its name: whoever registers one could write to anybody. */
export const claimLinkMail = (given: {
  id: string
  email: string
  matchPhrase: string
  url: string
}): ClaimMail => ({
  kind: 'claim-link',
  about: given.id,
  to: given.email,
  subject: 'Did you ask an AI agent to use Plainpath for you?',
  text: `An AI agent gave us this address. It says that it acts for you.

If you want that, do this:

1. Look at what your agent shows you. It must show these two words:

   ${given.matchPhrase}

2. Open this link and press the button. You get a code. Tell it to your agent.

   ${given.url}

Then, for 30 days, the agent can send us messages for you, and our answers come to
this address. You can end that at any time.

The link works for 24 hours.

If you did not ask for this, ignore this mail. Nothing happens then. To get no such
mails for 30 days, but from agents that you let in, open the link and press "No".

Plainpath is not a law firm and not the government.
`,
})

export const claimConfirmedMail = (
  claim: Claim,
  given: { to: string; agentRegisteredAt: Date; url: string },
): ClaimMail => ({
  kind: 'claim-confirmed',
  about: claim.id,
  to: given.to,
  subject: 'An AI agent can now use Plainpath for you',
  text: `You gave an AI agent the code from our page. From now on, until
${longDate(claim.expiresAt)}, it can send us messages for you. Our answers come to this
address.

The agent signed up here on ${longDate(given.agentRegisteredAt)}.

Was this not you, or do you want to end it? Open this link and press the button:

   ${given.url}

What you sent before stays with us for as long as our privacy page says.

Plainpath is not a law firm and not the government.
`,
})

/**
 * What becomes of the mails of claims. That a claim was made is told in any case, also over every cap: each follows a link
 * that was counted, and it is how a person learns of a claim that they did not mean, and ends it.
 */
export const claimMailHandlers = (deps: {
  attempts: Pick<ClaimAttemptStore, 'wantsMail' | 'mailSettled'>
  now: () => Date
}): Record<ClaimMail['kind'], MailHandler> => ({
  'claim-link': {
    wanted: (attemptId) => deps.attempts.wantsMail(attemptId, deps.now()),
    settled: (tx, attemptId, outcome) => deps.attempts.mailSettled(tx, attemptId, outcome),
  },
  'claim-confirmed': { capped: false },
})
