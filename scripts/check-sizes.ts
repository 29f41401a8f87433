import { TEST_FILE } from './import-rules.ts'
import type { Check, Repository } from './repository.ts'

const LINES = { source: 300, test: 400, meetingPlace: 120, median: 80 }

/** Where everything of an app meets, and where everything would grow. */
const MEETING_PLACE = /^apps\/[^/]+\/src\/(app|wire|wire\/wire-[a-z-]+|config|main)\.ts$/
const SOURCE = /\.(ts|mjs|sql|sh)$|^\.ci\/run$/

/** Names that say nothing about what is inside. */
const EMPTY_NAME = /(^|\/)(utils?|helpers?|common|shared|misc)(\.[^/]*)?(\/|$)|-(utils?|helpers?)\.[^/]+$/
const KEBAB_CASE = /^[a-z0-9.]+(-[a-z0-9.]+)*$/

const REQUIRED = [
  ...[
    'apps/auth/',
    'apps/resource/',
    'apps/local/',
    'e2e/',
    'infra/',
    'docs/decisions/',
    'README.md',
    'CONTRIBUTING.md',
  ],
  ...['domain', 'metadata', 'http', 'postgres', 'pages', 'sealing', 'guides'].map(
    (name) => `packages/${name}/`,
  ),
  ...['package.json', 'pnpm-workspace.yaml', 'pnpm-lock.yaml', 'turbo.json', 'tsconfig.base.json', '.ci/run'],
]
const TOP_LEVEL = new Set(['apps', 'bench', 'docs', 'e2e', 'infra', 'packages', 'scripts', '.ci'])

/** Files stay small, names say what is inside, and the tree is the one that docs/architecture.md draws. */
export const checkSizes: Check = (repository) => {
  const sources = repository.files
    .filter((file) => SOURCE.test(file))
    .map((file) => ({ file, lines: lineCount(repository.read(file)) }))
  return [
    ...sources.flatMap(({ file, lines }) => {
      const limit = limitFor(file)
      return lines > limit ? [`${file}: ${lines} lines, at most ${limit}`] : []
    }),
    ...medianBreach(sources.filter(({ file }) => !TEST_FILE.test(file)).map(({ lines }) => lines)),
    ...repository.files.flatMap(nameBreach),
    ...treeBreaches(repository),
  ]
}

function limitFor(file: string): number {
  if (MEETING_PLACE.test(file)) return LINES.meetingPlace
  return TEST_FILE.test(file) ? LINES.test : LINES.source
}

const lineCount = (text: string) => text.split('\n').length - (text.endsWith('\n') ? 1 : 0)

function medianBreach(lines: readonly number[]): string[] {
  const median = lines.toSorted((a, b) => a - b)[Math.floor(lines.length / 2)] ?? 0
  return median < LINES.median
    ? []
    : [`the median file has ${median} lines, it must have fewer than ${LINES.median}`]
}

function nameBreach(file: string): string[] {
  const name = file.slice(file.lastIndexOf('/') + 1)
  return [
    ...(EMPTY_NAME.test(file) ? [`${file}: its name does not say what is inside`] : []),
    ...(SOURCE.test(name) && !KEBAB_CASE.test(name) ? [`${file}: its name is not in kebab-case`] : []),
  ]
}

function treeBreaches({ files }: Repository): string[] {
  const folders = new Set(files.filter((file) => file.includes('/')).map((file) => file.split('/')[0] ?? ''))
  return [
    ...REQUIRED.filter(
      (place) => !files.some((file) => file === place || (place.endsWith('/') && file.startsWith(place))),
    ).map((place) => `${place}: missing from the tree`),
    ...[...folders]
      .filter((folder) => !TOP_LEVEL.has(folder))
      .map((folder) => `${folder}/: not a part of the tree`),
    ...files
      .filter((file) => /^apps\/[^/]+\/src\/.*index\.ts$/.test(file))
      .map((file) => `${file}: apps have no index`),
  ]
}
