import { DAY_MS, HOUR_MS, MINUTE_MS } from './in-words.ts'

/**
 * The figures that documents, pages and mails promise to people and agents. The code that enforces a figure and every text
 * that states it import it from here. Times are in milliseconds.
 */
export const RULES = {
  /** The lifetime of an access token. */
  tokenMs: HOUR_MS,
  /** The lifetime of the access token of an app that a person connected. */
  appTokenMs: 8 * HOUR_MS,
  /** How long a refresh token that was used works again for the same app, which may refresh from two places at once. */
  refreshGraceMs: MINUTE_MS,
  /** How long a person has to sign in, from the request of the app. */
  signInMs: HOUR_MS / 2,
  /** When a connection expires whose sign-in was not finished. */
  unfinishedSignInMs: HOUR_MS,
  /** When an app expires that nobody signed in with. */
  unusedAppMs: DAY_MS,
  /** When a registration without any token expires. */
  neverUsedMs: 7 * DAY_MS,
  /** When any other registration expires, counted from its last token. */
  idleMs: 90 * DAY_MS,
  /** The granularity of the stored time of the last token. It is longer than the lifetime of a token, so that no use is missed. */
  useRecordedMs: DAY_MS,
  /** How long a new registration is safe from being expired by a flood of others. */
  floodMs: HOUR_MS,
  /** How long an expired registration is reported as expired to its owner. */
  tombstoneMs: 90 * DAY_MS,
  /** How long the old secret works beside a new one. */
  oldSecretMs: 7 * DAY_MS,
  nameCharacters: 200,
  agentKeys: 3,
  /** How long the token endpoint may still accept the previous keys. */
  agentCachedMs: MINUTE_MS / 2,
  /** The longest lifetime of a client assertion, and its longest `jti`. */
  clientAssertionMs: 5 * MINUTE_MS,
  /** For how long the API remembers a DPoP proof that was used: longer than any instance accepts it. */
  usedProofMs: 3 * MINUTE_MS,
  /** The longest lifetime of a proof that a client can sign with a new key. */
  keyProofMs: 5 * MINUTE_MS,
  jtiCharacters: 256,
  /** How old a DPoP proof may be. */
  dpopProofMs: MINUTE_MS,
  /** How long the document of a client is cached: at least, at most, and without caching headers. */
  documentShortestMs: 5 * MINUTE_MS,
  documentLongestMs: DAY_MS,
  documentDefaultMs: HOUR_MS,
  /** How long a document that could not be used is not fetched again. */
  documentFailureMs: MINUTE_MS,
  /** Mails that a client may cause within a day, and the pause between two to one mailbox. */
  claimMails: 10,
  claimResendMs: MINUTE_MS,
  /** How long the link in a claim mail works, and a code of the page behind it. */
  claimLinkMs: DAY_MS,
  claimCodeMs: 10 * MINUTE_MS,
  claimCodeDigits: 6,
  /** Codes that the page shows for one link, and codes that the agent may send. */
  claimCodes: 3,
  claimTries: 5,
  /** How long wrong codes count against a mailbox, across all agents and attempts. */
  mailboxTriesMs: DAY_MS,
  /** How long a claim attempt can be distinguished from an unknown one. */
  claimAttemptKeptMs: 2 * DAY_MS,
  /** How long a refusal keeps further agents from sending to the mailbox. */
  claimBlockMs: 30 * DAY_MS,
  claimMs: 30 * DAY_MS,
  /** Codes that are mailed for one sign-in, and the pause between two. A code lasts for `claimCodeMs`, for `claimTries` tries. */
  signInCodes: 3,
  signInResendMs: MINUTE_MS,
  endedClaimKeptMs: 30 * DAY_MS,
  identityAssertionMs: DAY_MS,
  messageCharacters: 5_000,
  questionCharacters: 1_000,
  /** The most questions in a form that a tool shows, and how long it can be sent back. */
  formQuestions: 3,
  formMs: 10 * MINUTE_MS,
  idempotencyKeyCharacters: 200,
  idempotencyMs: DAY_MS,
  /** How long the same message without an Idempotency-Key is refused. */
  duplicateMessageMs: DAY_MS,
  /** The longest that a message with an urgent trigger waits before it goes to staff. */
  urgentHoldMs: MINUTE_MS,
  replyWorkingDays: 5,
  /** The most triggers that a message names. */
  handOffTriggers: 10,
  /** How long a message from the page waits for its confirmation. */
  unconfirmedMessageMs: DAY_MS,
  deliveredMessageMs: 90 * DAY_MS,
  /** How long a requested link to leave the waitlist works. */
  forgetLinkMs: 7 * DAY_MS,
  referralSlugCharacters: 16,
  /** The lifetime of the random key under which limits hash their subjects. */
  limitKeyMs: 2 * DAY_MS,
  /** Mails that one mailbox gets within a day, and how long each counts: an hour longer, to allow for clock skew. */
  mailsToMailbox: 5,
  mailCountedMs: DAY_MS + HOUR_MS,
  /** How long a mail waits, at most, for room under the cap of its domain or of all. */
  mailWaitsMs: 2 * DAY_MS,
  /** The same for a mail about something that expires after a day: an hour less. */
  dayMailWaitsMs: DAY_MS - HOUR_MS,
  /** How long address and text of an undeliverable mail are stored, and how long the record that it existed. */
  undeliveredMailMs: 8 * DAY_MS,
  mailKeptMs: 30 * DAY_MS,
} as const
