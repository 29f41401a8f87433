import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createRetentionDocument, RETENTION } from './retention.ts'

test('docs/retention.md is what "npm run generate" writes', () => {
  const committedText = readFileSync(new URL('../../../docs/retention.md', import.meta.url), 'utf8')
  expect(committedText).toBe(createRetentionDocument())
})

test('every row has `what` without a full stop, and `how` and `until` in sentences, each on one line of a table', () => {
  for (const { what, how, until } of RETENTION) {
    expect(what).toMatch(/^[A-Z][^|\n]*[^.]$/)
    for (const sentence of [how, until]) expect(sentence).toMatch(/^[A-Z][^|\n]*\.$/)
  }
})
