import { TEST_FILE } from '../import-rules.ts'
import type { Repository } from '../repository.ts'

/** A test, or a row of its table, whose title names cases. */
export interface NamedTest {
  readonly file: string
  readonly title: string
}

/** A text in quotes of either kind, on one line, with a case number in it. */
const TITLE = /(['"`])((?:\\.|(?!\1)[^\n\\])*?N-\d{3}(?:\\.|(?!\1)[^\n\\])*)\1/g
const CASES = /N-(\d{3})(?: to N-(\d{3}))?/g

/** Its titles are examples. */
const OWN_TEST = 'scripts/check-requirements.test.ts'

/** Which tests name which case: `N-045`, several, or a range such as `N-005 to N-016`. */
export function collectTests(repository: Repository): ReadonlyMap<string, readonly NamedTest[]> {
  const found = new Map<string, NamedTest[]>()
  const files = repository.files.filter(
    (file) => TEST_FILE.test(file) && file.endsWith('.ts') && file !== OWN_TEST,
  )
  for (const file of files) {
    for (const [, , title = ''] of repository.read(file).matchAll(TITLE))
      for (const id of casesIn(title)) found.set(id, [...(found.get(id) ?? []), { file, title }])
  }
  return found
}

function casesIn(title: string): string[] {
  return [...title.matchAll(CASES)].flatMap(([, first = '', last = first]) =>
    Array.from(
      { length: Math.max(0, Number(last) - Number(first) + 1) },
      (_, n) => `N-${String(Number(first) + n).padStart(3, '0')}`,
    ),
  )
}
