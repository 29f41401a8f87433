import path from 'node:path'
import type { Repository } from './repository.ts'

/** Texts that the service serves; their links are for its readers. */
const SERVED = /^packages\/guides\/content\/|\.template\.md$/
const INDEX = 'docs/README.md'
const FENCED = /^ *(`{3,}|~{3,})[^\n]*\n[\s\S]*?^ *\1/gm
const CODE = /`[^`\n]+`/g
const LINK = /\[[^\]]*\]\(([^)\s]+)[^)]*\)|^ *\[[^\]]+\]: *(\S+)/gm
const ABSOLUTE = /^([a-z][a-z+.-]*:|\/)/
/** `apps/v1` is an API group of Kubernetes. */
const PLACE = /(?<![\w/.@{-])(?:apps(?!\/v1\b)|bench|docs|e2e|infra|packages|scripts|\.ci)\/[\w.*/{},-]*/g
const PLACE_IN_PACKAGE = /(?<![\w/.@-])(?:src|test|migrations)\/[\w.*/{},-]*/g
const FILE_NAME = /`([\w.*-]+\.(?:ts|mjs|sql))`/g
const COMMAND = /\bnpm (?:run(?:-script)? +([\w:-]+)|(start|test)\b)/g

/**
 * Checks what Markdown files say about the repository: link targets, paths and npm commands must exist.
 *
 * @returns one line for each mistake, beginning with its file
 */
export const checkDocs = (repository: Repository): string[] => [
  ...pagesWithoutLink(repository),
  ...repository.files
    .filter((file) => file.endsWith('.md') && !SERVED.test(file))
    .flatMap((file) => {
      const text = repository.read(file)
      return [
        ...brokenLinks(repository, file, text),
        ...missingPlaces(repository, file, text),
        ...missingCommands(repository, text),
      ].map((breach) => `${file}: ${breach}`)
    }),
]

/** Finds pages that the index does not link to, either itself or through the README of a folder. */
function pagesWithoutLink({ files, read }: Repository): string[] {
  if (!files.includes(INDEX)) return []
  const pages = files.filter(
    (file) => file.startsWith(`${path.posix.dirname(INDEX)}/`) && file.endsWith('.md'),
  )
  const linkedFrom = (file: string) =>
    Array.from(read(file).matchAll(LINK), ([, inline, reference]) =>
      path.posix.join(path.posix.dirname(file), (inline ?? reference ?? '').split('#')[0] ?? ''),
    )
  const fromIndex = linkedFrom(INDEX)
  const folderIndexes = pages.filter((file) => file.endsWith('/README.md') && fromIndex.includes(file))
  const linked = new Set([INDEX, ...fromIndex, ...folderIndexes.flatMap(linkedFrom)])
  return pages.filter((file) => !linked.has(file)).map((file) => `${INDEX}: does not link to ${file}`)
}

function brokenLinks(repository: Repository, file: string, text: string): string[] {
  const prose = text.replace(FENCED, '').replace(CODE, '')
  const targets = Array.from(prose.matchAll(LINK), ([, inline, reference]) => inline ?? reference ?? '')
  return targets
    .filter((target) => !ABSOLUTE.test(target) && !isReachable(repository, file, target))
    .map((target) => `the link to ${target} leads nowhere`)
}

function isReachable(repository: Repository, file: string, link: string): boolean {
  const [place = '', anchor] = decodeURIComponent(link).split('#')
  const target = place === '' ? file : path.posix.join(path.posix.dirname(file), place)
  if (!exists(repository, target)) return false
  return (
    anchor === undefined || !target.endsWith('.md') || listAnchors(repository.read(target)).includes(anchor)
  )
}

/** Lists the anchors of the headings of a text, as GitHub creates them. */
function listAnchors(text: string): string[] {
  const headings = Array.from(
    text.replace(FENCED, '').matchAll(/^#+ +(.+?) *#*$/gm),
    ([, heading]) => heading ?? '',
  )
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-'),
  )
}

function missingPlaces(repository: Repository, file: string, text: string): string[] {
  const trimPunctuation = (place: string) => place.replace(/[.,{}]+$/, '')
  const ownFolder = /^(?:apps|packages)\/[^/]+\//.exec(file)?.[0]
  const places = [...(text.match(PLACE) ?? [])]
  if (ownFolder) places.push(...(text.match(PLACE_IN_PACKAGE) ?? []).map((place) => ownFolder + place))
  const names = Array.from(text.matchAll(FILE_NAME), ([, name]) => `**/${name}`)
  return [...new Set([...places, ...names].map(trimPunctuation))]
    .filter((place) => !exists(repository, place))
    .map((place) => `there is no ${place.replace(/^\*\*\//, '')}`)
}

function exists({ files }: Repository, place: string): boolean {
  const pattern = place.replace(/\/$/, '')
  if (pattern === '.') return true
  if (!/[*{]/.test(pattern)) return files.some((file) => file === pattern || file.startsWith(`${pattern}/`))
  return files.some((file) => path.matchesGlob(file, pattern) || path.matchesGlob(file, `${pattern}/**`))
}

function missingCommands(repository: Repository, text: string): string[] {
  const { scripts } = JSON.parse(repository.read('package.json')) as { scripts: Record<string, string> }
  const named = Array.from(text.matchAll(COMMAND), ([, run, short]) => run ?? short ?? '')
  return [...new Set(named)]
    .filter((name) => !(name in scripts))
    .map((name) => `package.json has no script ${name}`)
}
