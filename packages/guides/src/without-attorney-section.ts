import { ATTORNEY_HEADING } from './fixed-wording.ts'

/** The body up to its last section, for a page that shows `talkToAnAttorneyWhen`, the lists and the disclaimer in its own way. */
export const withoutAttorneySection = (body: string): string =>
  (body.split(`\n## ${ATTORNEY_HEADING}\n`)[0] ?? body).trimEnd()
