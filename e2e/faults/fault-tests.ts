import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { FAULT_NUMBERS, type FaultNumber, type FaultTest } from './fault-numbers.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TEST_FILES = '{apps,packages,e2e}/**/*.test.ts'
/** Matches a string literal on one line that contains the number of a fault. */
const TITLE = /(['"`])((?:\\.|(?!\1)[^\n\\])*?\bF-\d{2}\b(?:\\.|(?!\1)[^\n\\])*)\1/g

/** Finds the tests of each fault: those in `FAULT_NUMBERS`, and all whose titles contain the number. */
export function findFaultTests(): ReadonlyMap<FaultNumber, readonly FaultTest[]> {
  const testsByNumber = new Map<FaultNumber, FaultTest[]>()
  for (const number of Object.keys(FAULT_NUMBERS) as FaultNumber[])
    testsByNumber.set(number, [...FAULT_NUMBERS[number].tests])
  const files = globSync(TEST_FILES, { cwd: ROOT, exclude: (name) => name === 'node_modules' }).sort()
  for (const file of files) {
    for (const [, , title = ''] of readFileSync(`${ROOT}/${file}`, 'utf8').matchAll(TITLE)) {
      // A number without other words is not a title.
      if (!title.includes(' ')) continue
      for (const [number] of title.matchAll(/\bF-\d{2}\b/g))
        addTest(testsByNumber.get(number as FaultNumber), { file, title })
    }
  }
  return testsByNumber
}

/** Adds a test, unless it is already listed, possibly by a part of its title. */
function addTest(tests: FaultTest[] | undefined, { file, title }: FaultTest): void {
  if (tests && !tests.some((each) => each.file === file && title.includes(each.title)))
    tests.push({ file, title })
}
