import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createRetentionDocument, RETENTION } from './retention.ts'

test('docs/retention.md is what "npm run generate" writes', () => {
  const committedText = readFileSync(new URL('../../../docs/retention.md', import.meta.url), 'utf8')
  expect(committedText).toBe(createRetentionDocument())
})

test('every row has `what` without a full stop, and `how` and `howLong` in sentences, each on one line of a table', () => {
  for (const { what, how, howLong } of RETENTION) {
    // A `|` would end the cell of the table, and a line feed would end its row.
    expect(what).toMatch(/^[A-Z][^|\n]*[^.]$/)
    for (const sentence of [how, howLong]) expect(sentence).toMatch(/^[A-Z][^|\n]*\.$/)
  }
})

test('says how everything is stored that signing in with an app, or confirming an agent, leaves in the tables', () => {
  const findRow = (words: string) => RETENTION.find(({ what }) => what.includes(words))
  expect(findRow('What an app sent when it asked you to sign in')?.how).toBe('Encrypted.')
  expect(findRow('codes and refresh tokens')?.how).toContain('encrypted')
  expect(findRow('identity assertion')?.how).toContain('does not contain your address')
  expect(findRow('That you signed in with an app')?.how).toBe('The name is encrypted.')
})
