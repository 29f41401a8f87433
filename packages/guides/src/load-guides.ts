import { readdirSync, readFileSync } from 'node:fs'
import { err, ok, type Result } from '@plainpath/domain'
import { parseDocument } from 'yaml'
import { DISCLAIMER } from './guide-body.ts'
import { FrontMatter, type PackagedGuide } from './packaged-guide.ts'

/** The folder of the guides' files. */
export const CONTENT = new URL('../content/', import.meta.url)

let cached: readonly PackagedGuide[] | undefined

/** Loads the guides of this package, sorted by slug. Reads the files once per process. */
export function loadGuides(): readonly PackagedGuide[] {
  cached ??= readGuides(CONTENT)
  return cached
}

/**
 * Reads the guides of a folder, sorted by slug.
 *
 * @param folder has `<slug>.md` files; its URL ends in a slash
 * @throws {Error} that lists every mistake of every file as `file: member: what is wrong`
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

const FILE = /^---\n(?<front>[\s\S]*?)\n---\n(?<body>[\s\S]*)$/

/**
 * Parses the file of a guide: YAML front matter between `---` lines, then Markdown.
 *
 * @returns the guide, or all mistakes, each as `member: what is wrong`
 */
function parseGuide(text: string): Result<PackagedGuide, readonly string[]> {
  const { front, body } = FILE.exec(text)?.groups ?? {}
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
