import { capitalise, durationIn, durationInWords, numberInWords, RULES } from '@plainpath/domain'

const CODES = numberInWords(RULES.verificationCodes)

/**
 * The problems of e-mail verification, by which a person confirms an agent. The public texts call it a claim. `ProblemKind` in
 * `problems.ts` describes the members.
 */
export const CLAIM_PROBLEMS = {
  'otp-invalid': {
    status: 400,
    title: 'The code is wrong',
    meaning: 'The code in the request is not the one that the page showed last.',
    remedy:
      'Ask the person to read the code to you again, then send it. The member attempts_remaining says how many tries are left.',
    oauth: 'otp_invalid',
  },
  'claim-unknown': {
    status: 400,
    title: 'The claim attempt does not exist',
    meaning:
      'This client has no claim attempt, the request names one that is not its own, or the attempt ended long ago and was deleted.',
    remedy: 'Begin a new claim with POST /api/agent/claim.',
    oauth: 'invalid_claim_token',
  },
  'no-claim': {
    status: 409,
    title: 'No confirmation is in force for this agent',
    meaning: 'No person has confirmed this agent, or the confirmation has ended.',
    remedy:
      'If nobody has confirmed the agent yet, ask the person, then begin with POST /api/agent/claim. If a confirmation has ended, do not ask the person again on your own: begin only if they tell you to.',
    oauth: 'no_claim',
  },
  'code-not-shown': {
    status: 409,
    title: 'No code has been shown yet',
    meaning:
      'The person has not opened the link in the e-mail, or has not pressed the button on its page. This does not count as a try.',
    remedy:
      'Ask the person to open the link, compare the two words and press the button, then send the code. If they got no e-mail, check the address and begin a new claim.',
    oauth: 'authorization_pending',
  },
  'claim-completed': {
    status: 409,
    title: 'The claim was already completed',
    meaning: 'The right code for this attempt was already sent. A code works once.',
    remedy: 'If you did not receive the response, get an identity assertion with POST /api/agent/assertion.',
    oauth: 'previously_claimed',
  },
  'otp-expired': {
    status: 410,
    title: 'The code has expired',
    meaning: `A code is valid for ${durationInWords('minute', RULES.verificationCodeMs)}, or until the page shows the next one. This does not count as a try.`,
    remedy: `Ask the person to open the link in the e-mail again and press the button for a new code. The page shows at most ${CODES} codes; after that, begin a new claim.`,
    oauth: 'otp_expired',
  },
  'otp-locked': {
    status: 410,
    title: 'Too many wrong codes',
    meaning: `${capitalise(numberInWords(RULES.verificationTries))} wrong codes were sent for this attempt, or too many for this mailbox within ${durationInWords('day', RULES.mailboxTriesMs)}.`,
    remedy: `Begin a new claim, and have the person read the code to you. Never guess a code. If a new claim is locked too, wait ${durationIn('day', RULES.mailboxTriesMs)}.`,
    oauth: 'otp_locked',
  },
  'claim-expired': {
    status: 410,
    title: 'The claim attempt has expired',
    meaning: `The link in the e-mail was not used within ${durationIn('hour', RULES.verificationLinkMs)}.`,
    remedy: 'Ask the person whether they still want this. If so, begin a new claim.',
    oauth: 'claim_expired',
  },
  'claim-superseded': {
    status: 410,
    title: 'The claim attempt was replaced or withdrawn',
    meaning: 'This client has begun a newer claim, or has withdrawn this one.',
    remedy: 'Send the code of the newest attempt, or begin a new claim.',
    oauth: 'claim_superseded',
  },
  'claim-declined': {
    status: 410,
    title: 'The person declined',
    meaning: 'The owner of the mailbox declined the request.',
    remedy: 'Do not ask again. The guides and the waitlist work without a claim.',
    oauth: 'access_denied',
  },
} as const
