import { capitalised, durationIn, durationInWords, numberInWords, RULES } from '@plainpath/domain'

const CODES = numberInWords(RULES.claimCodes)

/** What can go wrong between an agent, a person and their mailbox. */
export const CLAIM_PROBLEMS = {
  'otp-invalid': {
    status: 400,
    title: 'The code is not the right one',
    meaning: 'The code that was sent is not the one that the person was shown last.',
    remedy:
      'Ask the person to read the code again, and send it. attempts_remaining says how often you still can.',
    oauth: 'otp_invalid',
  },
  'claim-unknown': {
    status: 400,
    title: 'There is no such claim attempt',
    meaning:
      'This client has no claim attempt, or not the one that was named, or it was deleted long after its end.',
    remedy: 'Begin a claim with POST /api/agent/claim.',
    oauth: 'invalid_claim_token',
  },
  'no-claim': {
    status: 409,
    title: 'Nobody has verified an e-mail address for this agent',
    meaning: 'No person has confirmed this agent, or the confirmation has ended.',
    remedy:
      'If nobody has confirmed the agent yet, ask the person, then begin with POST /api/agent/claim. If a confirmation has ended, do not ask the person again on your own: begin only if they tell you to.',
    oauth: 'no_claim',
  },
  'code-not-shown': {
    status: 409,
    title: 'No code was shown yet',
    meaning:
      'The person has not opened the mailed link, or has not let its page show a code. Nothing was counted.',
    remedy:
      'Ask the person to open the link, compare the two words and press the button; then send the code. If they got no mail, check the address and begin a new claim.',
    oauth: 'authorization_pending',
  },
  'claim-completed': {
    status: 409,
    title: 'The claim was completed before',
    meaning: 'The right code for this attempt was sent already; a code works once.',
    remedy: 'If the answer was lost, begin a new claim.',
    oauth: 'previously_claimed',
  },
  'otp-expired': {
    status: 410,
    title: 'The code has expired',
    meaning: `A code is good for ${durationInWords('minute', RULES.claimCodeMs)}, and only until the next one is shown. Nothing was counted.`,
    remedy: `Ask the person to open the mailed link again and to press for a new code; there are ${CODES} in all. If ${CODES} were shown already, begin a new claim.`,
    oauth: 'otp_expired',
  },
  'otp-locked': {
    status: 410,
    title: 'Too many wrong codes',
    meaning: `${capitalised(numberInWords(RULES.claimTries))} codes were sent for this attempt, or too many in ${durationInWords('day', RULES.mailboxTriesMs)} for this mailbox.`,
    remedy: `Begin a new claim, and have the person read the code to you. Never guess it. If a new claim is refused too, wait ${durationIn('day', RULES.mailboxTriesMs)}.`,
    oauth: 'otp_locked',
  },
  'claim-expired': {
    status: 410,
    title: 'The claim attempt has expired',
    meaning: `The mailed link was not used within ${durationIn('hour', RULES.claimLinkMs)}.`,
    remedy: 'Ask the person whether they want it, and begin a new claim.',
    oauth: 'claim_expired',
  },
  'claim-superseded': {
    status: 410,
    title: 'A newer claim attempt took its place',
    meaning: 'This client began another claim since, or withdrew this one.',
    remedy: 'Use the code of the newest attempt.',
    oauth: 'claim_superseded',
  },
  'claim-declined': {
    status: 410,
    title: 'The person said no',
    meaning: 'The owner of the mailbox does not want to be asked.',
    remedy: 'Do not ask again. Guides and the waitlist work without a claim.',
    oauth: 'access_denied',
  },
} as const
