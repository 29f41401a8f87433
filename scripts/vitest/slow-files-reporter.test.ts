import { expect, test } from 'vitest'
import { listFilesOverShare, listSlowestFiles } from './slow-files-reporter.ts'

const FILES = [
  { file: 'unit a.test.ts', ms: 700 },
  { file: 'unit b.test.ts', ms: 1_000 },
  { file: 'unit c.test.ts', ms: 8_300 },
]

test('lists the slowest files with their share of the total time', () => {
  expect(listSlowestFiles(FILES, 2)).toEqual([
    'The 2 slowest of 3 test files, of 10.0 s in all:',
    '    8.3 s 83.0 %  unit c.test.ts',
    '    1.0 s 10.0 %  unit b.test.ts',
  ])
})

test('reports a file over the share, but not one with exactly the share', () => {
  expect(listFilesOverShare(FILES, 0.1)).toEqual([
    'unit c.test.ts takes 83.0 % of the time of all test files, and 10.0 % is the most: split it, or remove what it waits for',
  ])
  expect(listFilesOverShare(FILES, 0.83)).toEqual([])
})
