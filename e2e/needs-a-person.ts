import type { operations } from '@plainpath/metadata'

type OperationId = keyof typeof operations

/** Operations that succeed only after a person has read a mail. The tests of e-mail verification cover them. */
export const NEEDS_A_PERSON: ReadonlySet<string> = new Set<OperationId>([
  'completeClaim',
  'createAssertion',
  'sendContactMessage',
  'getContactMessage',
  'deleteContactMessage',
])
