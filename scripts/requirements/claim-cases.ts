import { type CaseGroup, group } from './case.ts'

/** What can be done with the mails, pages and codes by which a person confirms an agent. */
export const CLAIM_CASES: readonly CaseGroup[] = [
  group('Confirming an agent by mail', [
    ['244', 'the same code twenty times at once, at several instances'],
    ['256', 'a code one second before, at and after its end'],
    ['258', 'codes that can be foreseen'],
    ['259', 'a code that is older than ten minutes'],
    ['260', 'the right code twice'],
    ['261', 'the right code after five wrong ones'],
    ['262', 'a new attempt, to begin counting anew'],
    ['263', 'many wrong codes for one mailbox, from many clients'],
    ['264', 'wrong codes at once, or through a failure of ours'],
    ['265', 'keeping a person out by using up their tries or mails'],
    ['266', 'a code for another address, client or attempt'],
    ['267', 'a step that is left out, or taken again'],
    ['268', 'what began before the person said no, and ends after it'],
    ['269', 'a code in other digits, with blanks, or as a number'],
    ['270', 'a code or a link’s secret in a query that is logged'],
    ['271', 'a mailed link made from a header'],
    ['272', 'a scanner that opens every link'],
    ['273', 'many mails to one mailbox'],
    ['274', 'mail that carries an agent’s words'],
    ['275', 'guessing codes from a copy of the database'],
    ['276', 'learning whether an address is known'],
    ['277', 'another address for the same agent'],
    ['278', 'an assertion that is not one of ours for this client, or has ended'],
    ['279', 'an assertion for several audiences'],
    ['280', 'a claim that has ended, or whose agent is gone'],
    ['281', 'an address confirmed by another of the same mailbox'],
  ]),
]
