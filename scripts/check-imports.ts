import { findCycles } from './find-cycles.ts'
import {
  FOLDER_EXCEPTIONS,
  IMPORT_RULES,
  type ImportRule,
  PACKAGE_IMPORTS,
  TEST_FILE,
} from './import-rules.ts'
import { PATTERN_RULES } from './pattern-rules.ts'
import { type Import, readImports } from './read-imports.ts'
import type { Check, Repository } from './repository.ts'

/** Imports run one way, and some words are not written: see import-rules.ts and pattern-rules.ts. */
export const checkImports: Check = (repository) => {
  const imports = readImports(repository)
  return [
    ...imports.flatMap((entry) =>
      [...brokenRules(entry), packageBreach(entry), crossingBreach(entry), folderBreach(entry)]
        .filter((because) => because !== undefined)
        .map((because) => `${entry.file}: imports ${entry.target}: ${because}`),
    ),
    ...findCycles(imports).map((cycle) => `${cycle[0]}: imports itself: ${cycle.join(' → ')}`),
    ...repository.files.flatMap((file) => forbiddenWords(repository, file)),
  ]
}

const brokenRules = (entry: Import): string[] =>
  IMPORT_RULES.filter((rule) => isBroken(rule, entry)).map((rule) => rule.because)

const isBroken = (rule: ImportRule, { file, target, typeOnly }: Import): boolean =>
  rule.files.test(file) &&
  !rule.except?.test(file) &&
  rule.forbid.test(target) &&
  !(rule.typesAllowed && typeOnly)

function packageBreach({ file, target }: Import): string | undefined {
  const from = /^packages\/([^/]+)\//.exec(file)?.[1]
  const to = /^@plainpath\/([^/]+)/.exec(target)?.[1]
  if (from === undefined || to === undefined || !(to in PACKAGE_IMPORTS)) return undefined
  const allowed = PACKAGE_IMPORTS[from] ?? []
  if (allowed.includes(to)) return undefined
  return `of our packages, ${from} may import ${allowed.join(', ') || 'none'} (PACKAGE_IMPORTS)`
}

/** The workspace folder a path belongs to. */
const workspaceOf = (file: string) => /^((?:apps|packages|infra)\/[^/]+|bench|e2e|scripts)\//.exec(file)?.[1]

function crossingBreach({ file, target }: Import): string | undefined {
  const [from, to] = [workspaceOf(file), workspaceOf(target)]
  if (from === undefined || to === undefined || to === 'scripts' || to === from) return undefined
  return 'another package is imported by its name, through what it exports'
}

function folderBreach({ file, target }: Import): string | undefined {
  const folder = /^apps\/[^/]+\/src\/[^/]+\//
  const [from, to] = [folder.exec(file)?.[0], folder.exec(target)?.[0]]
  if (from === undefined || to === undefined || from === to || TEST_FILE.test(file)) return undefined
  if (FOLDER_EXCEPTIONS.some((exception) => exception.from.test(from) && exception.to.test(to)))
    return undefined
  return 'folders of an app do not know each other; they meet in wire.ts and app.ts (FOLDER_EXCEPTIONS)'
}

function forbiddenWords(repository: Repository, file: string): string[] {
  const rules = PATTERN_RULES.filter((rule) => rule.files.test(file) && !rule.except?.test(file))
  if (rules.length === 0) return []
  return repository
    .read(file)
    .split('\n')
    .flatMap((line, index) =>
      rules
        .map((rule) => ({ because: rule.because, found: rule.forbid.exec(line)?.[0] }))
        .filter(({ found }) => found !== undefined)
        .map(({ because, found }) => `${file}:${index + 1}: ${found}: ${because}`),
    )
}
