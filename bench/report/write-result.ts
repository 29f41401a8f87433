import { writeFile } from 'node:fs/promises'
import path from 'node:path'

const RESULTS = path.join(import.meta.dirname, '..', 'results')

/** Writes a result to `bench/results`, as Markdown and as JSON. @param kind appended to the date, such as `-growth` */
export async function writeResult(
  kind: '' | '-growth' | '-scale',
  figures: unknown,
  { markdown, date, print }: { markdown: string; date: Date; print: (line: string) => void },
): Promise<void> {
  const name = `${date.toISOString().slice(0, 10)}${kind}`
  await writeFile(path.join(RESULTS, `${name}.md`), markdown)
  await writeFile(path.join(RESULTS, `${name}.json`), `${JSON.stringify(figures, null, 1)}\n`)
  print(`Written to bench/results/${name}.md and .json`)
}
