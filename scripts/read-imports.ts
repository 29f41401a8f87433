import path from 'node:path'
import type { Repository } from './repository.ts'

export interface Import {
  readonly file: string
  /** A path from the root for a relative import, the specifier itself for everything else. */
  readonly target: string
  /** Nothing of it is left when the types are stripped. */
  readonly typeOnly: boolean
}

const STATEMENT = /^(?:import|export)\s+(type\s+)?([^'"`;=()]*?)\s*\bfrom\s*['"]([^'"]+)['"]/gm
const BARE = /^import\s*['"]([^'"]+)['"]/gm
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]/g

/** All imports and re-exports of the TypeScript and JavaScript files outside of `node_modules`. */
export function readImports(repository: Repository): Import[] {
  return repository.files
    .filter((file) => /\.(ts|mjs)$/.test(file))
    .flatMap((file) => importsOf(file, repository.read(file)))
}

function importsOf(file: string, source: string): Import[] {
  const entry = (specifier: string, typeOnly: boolean) => ({
    file,
    target: resolve(file, specifier),
    typeOnly,
  })
  return [
    ...Array.from(source.matchAll(STATEMENT), ([, type, names = '', specifier = '']) =>
      entry(specifier, type !== undefined || namesOnlyTypes(names)),
    ),
    ...[...source.matchAll(BARE), ...source.matchAll(DYNAMIC)].map(([, specifier = '']) =>
      entry(specifier, false),
    ),
  ]
}

const resolve = (file: string, specifier: string) =>
  specifier.startsWith('.') ? path.posix.join(path.posix.dirname(file), specifier) : specifier

function namesOnlyTypes(names: string): boolean {
  const inBraces = /^\{(.*)\}$/s.exec(names)?.[1]
  const entries = inBraces
    ?.split(',')
    .map((name) => name.trim())
    .filter(Boolean)
  return entries !== undefined && entries.length > 0 && entries.every((name) => name.startsWith('type '))
}
