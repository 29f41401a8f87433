import { err, ok, type Result } from '@plainpath/domain'
import { parseDocument } from 'yaml'
import { DISCLAIMER } from './fixed-wording.ts'
import { FrontMatter, type PackagedGuide } from './packaged-guide.ts'

const FILE = /^---\n(?<front>[\s\S]*?)\n---\n(?<body>[\s\S]*)$/

/**
 * Reads one guide's file: YAML front matter between `---` lines, then Markdown.
 *
 * @returns all mistakes at once, each as `member: what is wrong`.
 */
export function parseGuide(text: string): Result<PackagedGuide, readonly string[]> {
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
