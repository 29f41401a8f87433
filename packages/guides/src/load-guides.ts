import { readdirSync, readFileSync } from 'node:fs'
import { err, ok, type Result } from '@plainpath/domain'
import { parseDocument } from 'yaml'
import { DISCLAIMER } from './guide-body.ts'
import { FrontMatter, type PackagedGuide } from './packaged-guide.ts'

/** The folder that contains the guide files. */
export const CONTENT_FOLDER = new URL('../content/', import.meta.url)

let loadedGuides: readonly PackagedGuide[] | undefined

/** Loads the guides in this package, sorted by slug. Reads the files only once per process. */
export function loadGuides(): readonly PackagedGuide[] {
  loadedGuides ??= readGuides(CONTENT_FOLDER)
  return loadedGuides
}

/**
 * Reads the guides in a folder, sorted by slug.
 *
 * @param folder contains a `<slug>.md` file for each guide; the URL ends in a slash
 * @throws {Error} if any file has mistakes; the message lists those of all files as `file: member: mistake`
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

const GUIDE_FILE = /^---\n(?<front>[\s\S]*?)\n---\n(?<body>[\s\S]*)$/

/**
 * Parses a guide file: YAML front matter between `---` lines, followed by Markdown.
 *
 * @returns the guide, or the mistakes in the file as `member: mistake`
 */
function parseGuide(text: string): Result<PackagedGuide, readonly string[]> {
  const { front, body } = GUIDE_FILE.exec(text)?.groups ?? {}
  if (front === undefined || body === undefined)
    return err(['does not begin with front matter between --- lines'])
  const yaml = parseDocument(front)
  if (yaml.errors.length > 0) return err(yaml.errors.map(({ message }) => `front matter: ${message.trim()}`))
  const parsed = FrontMatter.safeParse(yaml.toJS())
  const mistakes =
    parsed.error?.issues.map(({ path, message }) => `${path.join('.') || 'front matter'}: ${message}`) ?? []
  if (body.trim() === '') mistakes.push('body: is empty')
  if (!parsed.success || mistakes.length > 0) return err(mistakes)
  return ok({ ...parsed.data, body: body.trim(), disclaimer: DISCLAIMER })
}
