import { type CaseGroup, group } from './case.ts'

/** What can be done with mail, messages and the waitlist. */
export const MAIL_CASES: readonly CaseGroup[] = [
  group('Repeating a request', [
    ['245', 'the mark of a used assertion that is gone too early, or is another’s'],
    ['246', 'the same request again, or a worker that is killed'],
    ['247', 'the key of another registration'],
    ['248', 'an old, long or personal key'],
    ['249', 'one key many times at once'],
    ['250', 'a signed answer about another token, shown again'],
  ]),
  group('Mail', []),
  group('Waitlist and messages', [
    ['282', 'guessing referral slugs'],
    ['283', 'referrals of who has left'],
    ['284', 'joining many times at once'],
    ['285', 'a long, empty or binary message'],
    ['286', 'erasing somebody else'],
    ['287', 'coming back after being erased'],
    ['288', 'reading addresses unnoticed'],
    ['289', 'a guide that is not there, in another language, or a file in its place'],
    ['290', 'a guide that somebody altered in the store'],
    [
      '291',
      'somebody else’s address',
      'Contract §7: waitlist until removed. No purge of who did not confirm; decision 15 says what is done instead.',
    ],
    ['292', 'personal data in stores, headers and logs'],
  ]),
]
