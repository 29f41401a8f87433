import path from 'node:path'
import type { Repository } from './repository.ts'

/** The texts that the service publishes. Their links do not lead to files of the repository. */
const PUBLISHED_TEXT = /^packages\/guides\/content\/|\.template\.md$/
const INDEX_PAGE = 'docs/README.md'
/** A block between lines of at least three backticks or tildes. */
const FENCED_CODE = /^ *(`{3,}|~{3,})[^\n]*\n[\s\S]*?^ *\1/gm
const INLINE_CODE = /`[^`\n]+`/g
/** An inline link, `[text](target)`, or the definition of a reference link, `[name]: target`. */
const LINK = /\[[^\]]*\]\(([^)\s]+)[^)]*\)|^ *\[[^\]]+\]: *(\S+)/gm
/** A link with a scheme, or with a path on a web site: it does not lead to a file of the repository. */
const ABSOLUTE_LINK = /^([a-z][a-z+.-]*:|\/)/
/** A path relative to the root. `apps/v1` is not one: it is an API group of Kubernetes. */
const REPOSITORY_PATH =
  /(?<![\w/.@{-])(?:apps(?!\/v1\b)|bench|docs|e2e|infra|packages|scripts|\.ci)\/[\w.*/{},-]*/g
/** A path relative to the folder of the package whose document has it. */
const PACKAGE_PATH = /(?<![\w/.@-])(?:src|test|migrations)\/[\w.*/{},-]*/g
/** The name of a source file without its folder, in code. */
const FILE_NAME = /`([\w.*-]+\.(?:ts|mjs|sql))`/g
/** `npm run NAME`, or one of the names that npm accepts without `run`. */
const NPM_COMMAND = /\bnpm (?:run(?:-script)? +([\w:-]+)|(start|test)\b)/g

/**
 * Checks the references of Markdown files to the repository: link targets, paths and npm commands must exist.
 *
 * @returns one line for each mistake, beginning with its file
 */
export const checkDocs = (repository: Repository): string[] => [
  ...findPagesWithoutLink(repository),
  ...repository.files
    .filter((file) => file.endsWith('.md') && !PUBLISHED_TEXT.test(file))
    .flatMap((file) => {
      const text = repository.read(file)
      return [
        ...findBrokenLinks(repository, file, text),
        ...findMissingPaths(repository, file, text),
        ...findMissingCommands(repository, text),
      ].map((violation) => `${file}: ${violation}`)
    }),
]

/** Finds pages to which the index has no link, neither directly nor through the README of a folder. */
function findPagesWithoutLink({ files, read }: Repository): string[] {
  if (!files.includes(INDEX_PAGE)) return []
  const pages = files.filter(
    (file) => file.startsWith(`${path.posix.dirname(INDEX_PAGE)}/`) && file.endsWith('.md'),
  )
  const listLinkTargets = (file: string) =>
    Array.from(read(file).matchAll(LINK), ([, inline, reference]) =>
      path.posix.join(path.posix.dirname(file), (inline ?? reference ?? '').split('#')[0] ?? ''),
    )
  const indexTargets = listLinkTargets(INDEX_PAGE)
  const folderIndexes = pages.filter((file) => file.endsWith('/README.md') && indexTargets.includes(file))
  const linkedPages = new Set([INDEX_PAGE, ...indexTargets, ...folderIndexes.flatMap(listLinkTargets)])
  return pages
    .filter((file) => !linkedPages.has(file))
    .map((file) => `${INDEX_PAGE}: does not link to ${file}`)
}

function findBrokenLinks(repository: Repository, file: string, text: string): string[] {
  const prose = text.replace(FENCED_CODE, '').replace(INLINE_CODE, '')
  const targets = Array.from(prose.matchAll(LINK), ([, inline, reference]) => inline ?? reference ?? '')
  return targets
    .filter((target) => !ABSOLUTE_LINK.test(target) && !isReachable(repository, file, target))
    .map((target) => `the link to ${target} leads nowhere`)
}

/** Returns whether the target of a relative link exists, including its anchor. */
function isReachable(repository: Repository, file: string, link: string): boolean {
  const [name = '', anchor] = decodeURIComponent(link).split('#')
  const target = name === '' ? file : path.posix.join(path.posix.dirname(file), name)
  if (!pathExists(repository, target)) return false
  return (
    anchor === undefined || !target.endsWith('.md') || listAnchors(repository.read(target)).includes(anchor)
  )
}

/** Lists the anchors that GitHub creates for the headings of a text. */
function listAnchors(text: string): string[] {
  const headings = Array.from(
    text.replace(FENCED_CODE, '').matchAll(/^#+ +(.+?) *#*$/gm),
    ([, heading]) => heading ?? '',
  )
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-'),
  )
}

/** Finds paths and file names that match no file of the repository. Globs count as present if they match a file. */
function findMissingPaths(repository: Repository, file: string, text: string): string[] {
  const trimPunctuation = (name: string) => {
    // Punctuation after a path belongs to the text around it.
    const trimmed = name.replace(/[.,{}]+$/, '')
    // The brace that closes alternatives, as in `apps/{auth,local}`, belongs to the path.
    return trimmed.lastIndexOf('{') > trimmed.lastIndexOf('}') ? `${trimmed}}` : trimmed
  }
  const ownFolder = /^(?:apps|packages)\/[^/]+\//.exec(file)?.[0]
  const paths = [...(text.match(REPOSITORY_PATH) ?? [])]
  if (ownFolder) paths.push(...(text.match(PACKAGE_PATH) ?? []).map((name) => ownFolder + name))
  const fileNames = Array.from(text.matchAll(FILE_NAME), ([, name]) => `**/${name}`)
  return [...new Set([...paths, ...fileNames].map(trimPunctuation))]
    .filter((name) => !pathExists(repository, name))
    .map((name) => `there is no ${name.replace(/^\*\*\//, '')}`)
}

/** Returns whether a file or folder exists. @param name a path relative to the root, or a glob pattern for one */
function pathExists({ files }: Repository, name: string): boolean {
  const pattern = name.replace(/\/$/, '')
  if (pattern === '.') return true
  if (!/[*{]/.test(pattern)) return files.some((file) => file === pattern || file.startsWith(`${pattern}/`))
  return files.some((file) => path.matchesGlob(file, pattern) || path.matchesGlob(file, `${pattern}/**`))
}

function findMissingCommands(repository: Repository, text: string): string[] {
  const { scripts } = JSON.parse(repository.read('package.json')) as { scripts: Record<string, string> }
  const commandNames = Array.from(
    text.matchAll(NPM_COMMAND),
    ([, runName, shortName]) => runName ?? shortName ?? '',
  )
  return [...new Set(commandNames)]
    .filter((name) => !(name in scripts))
    .map((name) => `package.json has no script ${name}`)
}
