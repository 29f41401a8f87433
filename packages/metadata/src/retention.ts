import { capitalise, DAY_MS, durationIn, durationInWords, RULES } from '@plainpath/domain'

/** A kind of data about people or their agents, with how and for how long we store it. `/privacy` shows these texts. */
interface RetentionRow {
  /** The data, without a full stop. */
  readonly what: string
  /** The form in which the data is stored, in sentences. */
  readonly how: string
  /** For how long the data is stored, in sentences. */
  readonly howLong: string
}

const CLAIM_ROWS: readonly RetentionRow[] = [
  {
    what: 'Your e-mail address, while an agent asks you to confirm it, and the two words that you compare',
    how: 'Encrypted. Keyed hashes of the address and the mailbox let us count, and remember that you said no.',
    howLong: `Until you answer, and at most ${durationIn('hour', RULES.verificationLinkMs)} after our e-mail, which can be up to ${durationIn('hour', RULES.dayMailWaitsMs)} late. If the agent asks again, gives up, sends us too many wrong codes or is no longer registered, we erase the address and the words at once. We keep the hashes until the link in our e-mail expires, so that you can still say no.`,
  },
  {
    what: 'Your e-mail address, while you sign in with an app',
    how: 'Encrypted. Keyed hashes of the address and the mailbox let us count.',
    howLong: `Until you allow or deny, and at most ${durationIn('minute', RULES.verificationCodeMs)} after you typed it in, and a minute more.`,
  },
  {
    what: 'That you signed in with an app: its id, where it is, and the name that it gave itself',
    how: 'The name is encrypted.',
    howLong: `For ${durationIn('hour', RULES.unfinishedSignInMs)}, if the sign-in was not finished. Otherwise until we erase the record of how it ended.`,
  },
  {
    what: 'What an app sent when it asked you to sign in, and the record that you allowed it',
    how: 'Encrypted.',
    howLong: `The request until you are back in the app, and at most ${durationIn('minute', RULES.signInMs)} and a minute more. The record for ${durationIn('day', RULES.verificationMs)} and a minute more, even if the access ends sooner.`,
  },
  {
    what: 'The codes and refresh tokens with which an app gets access tokens for you',
    how: 'A hash. The code or token itself, and what belongs to it, such as the id of the app, are encrypted.',
    howLong: `A code for two minutes. A refresh token for ${durationIn('day', RULES.verificationMs)} after you allowed the app, and a minute more, even if it was used or the access ends sooner.`,
  },
  {
    what: 'That an agent got a proof that you confirmed it (an identity assertion)',
    how: 'The numbers of the proof and of the confirmation, and times. The proof does not contain your address.',
    howLong: `For ${durationIn('hour', RULES.identityAssertionMs)} and a minute more.`,
  },
  {
    what: 'That an agent, or a sign-in, asked somebody, and what came of it',
    how: 'Ids, times and a state, without the address.',
    howLong: `For ${durationInWords('day', RULES.verificationAttemptKeptMs)}.`,
  },
  {
    what: 'The code that our page shows you or our e-mail has, and the links in our e-mails',
    how: 'Only a hash; of the code, a keyed one.',
    howLong: `A code until it is used, replaced or declined, and at most ${durationIn('hour', RULES.verificationLinkMs)}. A link, for as long as what it is about.`,
  },
  {
    what: 'Your e-mail address, after you confirmed an agent or allowed an app',
    how: 'Encrypted, with a keyed hash of the address.',
    howLong: `For ${durationIn('day', RULES.verificationMs)}, or until you, the agent or app, or the operator revokes it. We also erase it at once if somebody uses an old key of the app again.`,
  },
  {
    what: 'That an agent was confirmed or an app allowed, and how that ended',
    how: 'Ids and times, without the address.',
    howLong: `Until ${durationIn('day', RULES.endedVerificationKeptMs)} after it ended.`,
  },
  {
    what: 'How many wrong codes were sent for a mailbox',
    how: 'Times under a keyed hash of the mailbox.',
    howLong: `For ${durationIn('day', RULES.mailboxTriesMs)} and a minute.`,
  },
  {
    what: 'That you said no to an agent',
    how: 'A keyed hash of your mailbox, and a date.',
    howLong: `For ${durationIn('day', RULES.verificationBlockMs)}.`,
  },
]

const CONTACT_ROWS: readonly RetentionRow[] = [
  {
    what: 'A message that you wrote to us, the address for the answer, the checked domain of your agent, if it has one, and why you need a lawyer, if you agreed that we are told',
    how: 'Encrypted.',
    howLong: `Until you take it back, and at most ${durationIn('day', RULES.deliveredMessageMs)} after it reached the people who answer. Their mailbox keeps its own copy until they delete it; you can ask them to. If you do not confirm a message from our page, we erase it ${durationIn('hour', RULES.unconfirmedMessageMs)} after our e-mail, which can be up to ${durationIn('hour', RULES.dayMailWaitsMs)} late.`,
  },
  {
    what: 'That there was a message: its number, topic, guide, state and times, and the number of the confirmation that its agent had',
    how: `Without text and address. The number of the confirmation means nothing once we erase the record of it, ${durationIn('day', RULES.endedVerificationKeptMs)} after it ended.`,
    howLong: 'We do not erase this, unless the message was never confirmed.',
  },
  {
    what: 'The Idempotency-Key of a message from an agent, and the request sent with it, so that a message is sent only once',
    how: 'Only keyed hashes.',
    howLong: `For ${durationIn('hour', RULES.idempotencyMs)}, and at most a few minutes more.`,
  },
  {
    what: 'Whether you sent the same message before',
    how: 'Only a keyed hash of it and of who wrote it.',
    howLong: `For ${durationIn('hour', RULES.duplicateMessageMs)}, and at most a few minutes more.`,
  },
]

/** All data about people and agents that we store. `/privacy` and `docs/retention.md` are generated from this list. */
export const RETENTION: readonly RetentionRow[] = [
  {
    what: 'Your e-mail address on the waitlist, and when you joined',
    how: 'The address is encrypted. A keyed hash lets us see that an address is there already.',
    howLong: 'Until you take it off the list, by the link in our e-mail or a new one that you ask for.',
  },
  {
    what: 'Invitations you shared: who invited whom to the waitlist',
    how: `A link between two entries. Your share link has ${RULES.referralSlugCharacters} random characters.`,
    howLong: 'For as long as both entries exist.',
  },
  {
    what: 'The links in our e-mails about the waitlist and about your message',
    how: 'Only a hash.',
    howLong: `As long as your place on the list, or the message. We keep the link that withdraws a message for ${durationIn('day', RULES.deliveredMessageMs)} more, so that its page can say what happened. A link that you asked for to leave works for ${durationIn('day', RULES.forgetLinkMs)}.`,
  },
  {
    what: 'E-mails waiting to be sent: your address and the text, which can contain your message to us and the name or domain of an agent',
    how: 'Encrypted.',
    howLong: `Until your mail server accepts it; if it never does, for ${durationIn('day', RULES.undeliveredMailMs)}. Mail servers keep copies of their own.`,
  },
  {
    what: 'That an e-mail was sent, and what kind it was',
    how: `Without address and text. For a day and ${durationIn('hour', RULES.mailCountedMs - DAY_MS)}, a keyed hash of the mailbox, to count.`,
    howLong: `For ${durationIn('day', RULES.mailKeptMs)}.`,
  },
  {
    what: 'Which network an e-mail was requested from, so that no network can use up the e-mails of everybody, or those of one person',
    how: 'Only a keyed hash of the IPv4 address, or of the beginning (/48) of the IPv6 address.',
    howLong: `Until the e-mail is sent or dropped, and for a day and ${durationIn('hour', RULES.mailCountedMs - DAY_MS)} more.`,
  },
  ...CONTACT_ROWS,
  {
    what: 'The name of an agent, if it gave one',
    how: 'Encrypted.',
    howLong: 'Until the agent deletes its registration, or the registration expires.',
  },
  {
    what: 'An agent’s registration: its id, its scopes, its state, when it registered, and the day of its last token',
    how: 'The id is random, or the URL of the document that the agent publishes; then also when we fetched it.',
    howLong: `Until it expires: ${durationIn('day', RULES.neverUsedMs)} after it was made if the agent never got a token, otherwise ${durationIn('day', RULES.idleMs)} (plus at most ${durationIn('day', RULES.useRecordedMs)}) after its last token. We keep a registration that the agent deletes or the operator disables, so that its id never works again.`,
  },
  {
    what: 'That a registration expired',
    how: 'Its id, keyed hashes of its secrets or its public keys, and the time, which is enough to tell the agent.',
    howLong: `For ${durationIn('day', RULES.tombstoneMs)}.`,
  },
  {
    what: 'The secrets of an agent',
    how: 'Only keyed hashes.',
    howLong: `Until the agent deletes its registration, ends the secret or registers keys instead. We erase an old secret ${durationIn('day', RULES.oldSecretMs)} after a new one was made.`,
  },
  {
    what: 'The public keys of an agent, if it has keys instead of a secret',
    how: 'As it sent or published them. We keep nothing else of a document. A public key is no secret.',
    howLong: `Until the agent replaces them, we fetch a document without them, or the agent deletes its registration, and ${durationIn('day', RULES.tombstoneMs)} after the registration expired.`,
  },
  {
    what: 'That a client assertion of an agent was used',
    how: 'Only a hash of the agent’s id and the number of the assertion.',
    howLong: `${capitalise(durationInWords('minute', RULES.clientAssertionMs))} after it was made, and at most a few minutes more.`,
  },
  {
    what: 'That a DPoP proof of an agent was used',
    how: 'Only a hash of the thumbprint of its key and the number of the proof.',
    howLong: `${capitalise(durationInWords('minute', RULES.usedProofMs))} after it was used, and at most a few minutes more.`,
  },
  {
    what: 'Access tokens of an agent, or of an app in which you signed in',
    how: 'Only a hash, with the id of the agent or app and what the token is for.',
    howLong: `${capitalise(durationInWords('hour', RULES.tokenMs))} after the token was made, ${durationIn('hour', RULES.appTokenMs)} for an app, and at most a few minutes more.`,
  },
  {
    what: 'How often a network address, an agent or an e-mail address was used, for our limits',
    how: 'Counts under keyed hashes. Their random key changes each day.',
    howLong: `Counted for at most an hour and a few minutes, and requests of agents to be confirmed for a day. After ${durationInWords('day', RULES.limitKeyMs)} the key is gone, and nobody can tell what a hash stood for.`,
  },
  {
    what: 'A log line for a request, and one when something changes or ends: an agent, a confirmation, a place on the list, a message',
    how: 'Times, kinds, results and random numbers; when something changes, also the checked domain of the agent, if it has one. The number of a request is our own or the X-Request-Id that the caller sent. No network address, e-mail address, search or token.',
    howLong:
      'For as long as the operator of this server keeps logs; lines about changes as long as backups, 35 days, so that we can erase and revoke the same things again after restoring a backup.',
  },
  ...CLAIM_ROWS,
]

/** Formats `RETENTION` as a Markdown table. */
const formatRetentionTable = (): string =>
  [
    '| what | how | how long |',
    '|---|---|---|',
    ...RETENTION.map(({ what, how, howLong }) => `| ${what} | ${how} | ${howLong} |`),
  ].join('\n')

/** Creates the text of `docs/retention.md`. */
export const createRetentionDocument = (): string => `# What is kept, and how long

Made from \`packages/metadata/src/retention.ts\` by \`npm run generate\`, like the page \`/privacy\`.

${formatRetentionTable()}

Nothing else about a person is stored: no network address, no cookie, no search. Only the page on which you sign in with an app sets cookies in your
browser, for half an hour at most. Guides are public.
`
