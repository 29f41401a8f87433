import type { TracedCall } from '@plainpath/tracing'

/** A statement as traces tell it: its text, in which values are placeholders, and never the values. */
export const statementCall = (text: string): TracedCall => ({
  name: /\w+/.exec(text)?.[0].toLowerCase() ?? 'statement',
  attributes: { 'db.system.name': 'postgresql', 'db.query.text': text },
})
