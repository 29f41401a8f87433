import { readdirSync, readFileSync } from 'node:fs'
import type { PackagedGuide } from './packaged-guide.ts'
import { parseGuide } from './parse-guide.ts'

const CONTENT = new URL('../content/', import.meta.url)

let packaged: readonly PackagedGuide[] | undefined

/** The guides of this package, by slug; read once, since they do not change while a process runs. */
export function loadGuides(): readonly PackagedGuide[] {
  packaged ??= readGuides(CONTENT)
  return packaged
}

/**
 * The guides of a folder, by slug.
 *
 * @param folder has `<slug>.md` files; its URL ends in a slash.
 * @throws Error that lists every mistake of every file as `file: member: what is wrong`.
 */
export function readGuides(folder: URL): readonly PackagedGuide[] {
  const guides: PackagedGuide[] = []
  const mistakes: string[] = []
  const files = readdirSync(folder).filter((name) => name.endsWith('.md'))
  for (const file of files.toSorted()) {
    const parsed = parseGuide(readFileSync(new URL(file, folder), 'utf8'))
    if (!parsed.ok) mistakes.push(...parsed.error.map((mistake) => `${file}: ${mistake}`))
    else if (`${parsed.value.slug}.md` !== file) mistakes.push(`${file}: slug: must be the name of the file`)
    else guides.push(parsed.value)
  }
  if (mistakes.length > 0) throw new Error(`guides with mistakes\n${mistakes.join('\n')}`)
  return guides
}
