import type { operations } from '@plainpath/metadata'

type OperationId = keyof typeof operations

/** Operations that succeed only once a person has read a mail; the loan of an e-mail address tests them. */
export const NEEDS_A_PERSON: ReadonlySet<string> = new Set<OperationId>([
  'completeClaim',
  'createAssertion',
  'sendContactMessage',
  'getContactMessage',
  'deleteContactMessage',
])
