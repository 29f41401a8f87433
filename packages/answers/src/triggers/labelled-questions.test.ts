import { describe, expect, test } from 'vitest'
import { acceptedNames, readLabelledQuestions } from '../labelled-question.ts'
import { readTriggers } from './match-triggers.ts'
import { loadTriggers } from './trigger-file.ts'

const TODAY = new Date('2026-11-23')
const triggers = loadTriggers()
const rows = ['f', 'g', 'h', 'i', 'j', 'k'].flatMap((hand) =>
  readLabelledQuestions(new URL(`../../examples/${hand}.jsonl`, import.meta.url)),
)

/** The shares of questions that a split must keep: a little worse than what was measured. */
describe.for([
  { split: 'train', recall: 0.95, covered: 0.98, falseHandOffs: 0.06 },
  { split: 'held-out', recall: 0.88, covered: 0.98, falseHandOffs: 0.16 },
] as const)('$split questions', ({ split, recall, covered, falseHandOffs }) => {
  const read = rows
    .filter((row) => row.split === split)
    .map((row) => {
      const { matches, weak } = readTriggers(row.question, triggers, TODAY)
      const right = acceptedNames(row, 'handoff')
      const found = matches.map(({ trigger }) => trigger)
      const checks = weak.slice(0, 3).map(({ trigger }) => trigger)
      return {
        kind: row.expected.split(':')[0],
        isFound: found.some((id) => right.includes(id)),
        isCovered: [...found, ...checks].some((id) => right.includes(id)),
        isFalse: found.some((id) => !right.includes(id)),
      }
    })
  const handOffs = read.filter(({ kind }) => kind === 'handoff')
  const informed = read.filter(({ kind }) => kind === 'answer')

  test('are handed off where they must be', () => {
    expect(handOffs.filter(({ isFound }) => isFound).length / handOffs.length).toBeGreaterThan(recall)
  })

  test('have the right trigger stated or asked', () => {
    expect(handOffs.filter(({ isCovered }) => isCovered).length / handOffs.length).toBeGreaterThan(covered)
  })

  test('are not handed off without need', () => {
    expect(informed.filter(({ isFalse }) => isFalse).length / informed.length).toBeLessThan(falseHandOffs)
  })
})
