import { DAY_MS, HOUR_MS, MINUTE_MS } from './in-words.ts'

/**
 * The numbers that documents, pages and mails promise to people and agents. Both the code that enforces a number and every text
 * that states it import the number from here. Times are in milliseconds.
 */
export const RULES = {
  /** The lifetime of an access token. */
  tokenMs: HOUR_MS,
  /** The lifetime of a connected app's access token. */
  appTokenMs: 8 * HOUR_MS,
  /** How long a used refresh token still works for the same app, which may refresh from two places at the same time. */
  refreshGraceMs: MINUTE_MS,
  /**
   * The maximum number of refresh tokens per connection. After that, the person has to connect again. An app that refreshes every
   * eight hours uses 90 in 30 days.
   */
  refreshTokens: 1_000,
  /** The time limit for a person's sign-in after the app's request. */
  signInMs: HOUR_MS / 2,
  /** The time until a connection expires if its sign-in is not finished. */
  unfinishedSignInMs: HOUR_MS,
  /** The time until a registration expires if it never receives a token. */
  neverUsedMs: 7 * DAY_MS,
  /**
   * The minimum time until any other registration expires after its last token, and until an app expires after its registration or
   * the last sign-in with it.
   */
  idleMs: 90 * DAY_MS,
  /** The maximum time by which the recorded time of the last token is too early. */
  useRecordedMs: DAY_MS,
  /** How long a new registration is safe from expiry in a flood of registrations. */
  floodMs: HOUR_MS,
  /** How long an expired registration is reported as expired, and not as unknown. */
  tombstoneMs: 90 * DAY_MS,
  /** How long the old secret works in addition to a new one. */
  oldSecretMs: 7 * DAY_MS,
  /** The maximum length of an agent's name, and the maximum number of its public keys. */
  nameCharacters: 200,
  agentKeys: 3,
  /** How long an instance caches an agent. For that time, the token endpoint may still accept removed keys and secrets. */
  agentCachedMs: MINUTE_MS / 2,
  /** The longest lifetime of a client assertion. */
  clientAssertionMs: 5 * MINUTE_MS,
  /** The longest `jti` of an assertion or a proof that auth and the API accept. */
  jtiCharacters: 256,
  /** How long the API stores a used DPoP proof, which is longer than any instance accepts it. */
  usedProofMs: 3 * MINUTE_MS,
  /** The longest lifetime of a proof that a client controls a new key. */
  keyProofMs: 5 * MINUTE_MS,
  /** The maximum age of a DPoP proof. */
  dpopProofMs: MINUTE_MS,
  /** How long a client document is cached: the minimum, the maximum, and the default without caching headers. */
  documentShortestMs: 5 * MINUTE_MS,
  documentLongestMs: DAY_MS,
  documentDefaultMs: HOUR_MS,
  /** How long an unusable document is not fetched again. */
  documentFailureMs: MINUTE_MS,
  /** The maximum number of verification mails that a client may cause within a day, and the pause between two to one mailbox. */
  verificationMails: 10,
  verificationResendMs: MINUTE_MS,
  /** The lifetimes of the link in a verification mail, and of a code on the page that the link opens. */
  verificationLinkMs: DAY_MS,
  verificationCodeMs: 10 * MINUTE_MS,
  verificationCodeDigits: 6,
  /** The maximum length of a code as it was entered, with white space and invisible marks. */
  enteredCodeCharacters: 64,
  /** The maximum numbers of codes that the page shows for one link, and of codes that the agent may send. */
  verificationCodes: 3,
  verificationTries: 5,
  /** How long wrong codes count against a mailbox. Those of all agents count together, and so do those of all sign-ins. */
  mailboxTriesMs: DAY_MS,
  /** How long a verification attempt can be distinguished from an unknown one. */
  verificationAttemptKeptMs: 2 * DAY_MS,
  /** How long a mailbox gets no verification mails after its owner declined, except from agents that the owner has confirmed. */
  verificationBlockMs: 30 * DAY_MS,
  /** The lifetime of an e-mail verification. */
  verificationMs: 30 * DAY_MS,
  /** The maximum number of codes that are mailed for one sign-in, and the pause between two. Each is valid for `verificationCodeMs`. */
  signInCodes: 3,
  signInResendMs: MINUTE_MS,
  /** How long a verification is stored after it has ended. */
  endedVerificationKeptMs: 30 * DAY_MS,
  /** The longest lifetime of an identity assertion, which an agent exchanges for tokens to act for the person. */
  identityAssertionMs: DAY_MS,
  messageCharacters: 5_000,
  questionCharacters: 1_000,
  /** The maximum number of questions in a form that a tool shows, and how long the form can be submitted. */
  formQuestions: 3,
  formMs: 10 * MINUTE_MS,
  idempotencyKeyCharacters: 200,
  /** How long a repeated request is recognised by its Idempotency-Key. */
  idempotencyMs: DAY_MS,
  /** How long the same message without an Idempotency-Key is refused. */
  duplicateMessageMs: DAY_MS,
  /** The maximum time that a message with an urgent trigger waits before it is delivered to staff. */
  urgentHoldMs: MINUTE_MS,
  /** The time in which staff usually reply to a message. */
  replyWorkingDays: 5,
  /** The maximum number of triggers that a message names. */
  handOffTriggers: 10,
  /** How long a message from the page waits for its confirmation. */
  unconfirmedMessageMs: DAY_MS,
  /** The time after its delivery to staff at which a message is erased, if not earlier. */
  deliveredMessageMs: 90 * DAY_MS,
  /** The lifetime of a requested link to leave the waitlist. */
  forgetLinkMs: 7 * DAY_MS,
  referralSlugCharacters: 16,
  /** The lifetime of the random key under which limits hash their subjects. */
  limitKeyMs: 2 * DAY_MS,
  /**
   * The maximum number of mails to one mailbox within a day. Mails that a person requested count separately: up to
   * `mailsToMailbox` for each network from which they were requested, and up to `requestedMailsToMailbox` in all.
   */
  mailsToMailbox: 5,
  requestedMailsToMailbox: 20,
  /** How long a mail counts: an hour longer than a day, to allow for clock skew. */
  mailCountedMs: DAY_MS + HOUR_MS,
  /** The maximum time that a mail waits when the cap of its domain, or of all mails, is reached. */
  mailWaitsMs: 2 * DAY_MS,
  /** The maximum time that such a mail waits if it is about something that expires after a day. */
  dayMailWaitsMs: DAY_MS - HOUR_MS,
  /** How long an undeliverable mail's address and text are stored, and how long the record of any mail is stored. */
  undeliveredMailMs: 8 * DAY_MS,
  mailKeptMs: 30 * DAY_MS,
} as const
