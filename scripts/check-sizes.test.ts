import { describe, expect, it } from 'vitest'
import { checkSizes } from './check-sizes.ts'
import { breachesOf } from './repository.fixture.ts'

const lines = (count: number) => 'line\n'.repeat(count)
const packages = ['domain', 'metadata', 'http', 'postgres', 'pages', 'sealing', 'guides']
const TREE = Object.fromEntries(
  [
    ...[
      'apps/auth/src/main.ts',
      'apps/resource/src/main.ts',
      'apps/local/src/main.ts',
      'e2e/package.json',
      '.ci/run',
    ],
    ...[
      'infra/compose.yaml',
      'docs/decisions/one.md',
      'README.md',
      'CONTRIBUTING.md',
      'turbo.json',
      'package.json',
    ],
    ...['pnpm-workspace.yaml', 'pnpm-lock.yaml', 'tsconfig.base.json'],
    ...packages.map((name) => `packages/${name}/src/index.ts`),
  ].map((file) => [file, lines(1)]),
)
const withFiles = (files: Record<string, string>) => breachesOf(checkSizes, { ...TREE, ...files })

describe('sizes, names and the tree', () => {
  it('passes the tree of the design', () => {
    expect(withFiles({})).toEqual([])
  })

  it.each([
    ['apps/auth/src/keys/key-ring.ts', 300],
    ['apps/auth/src/keys/key-ring.test.ts', 400],
    ['apps/auth/test/token.ts', 400],
    ['apps/auth/src/app.ts', 120],
    ['apps/resource/src/wire/wire-stores.ts', 120],
    ['apps/local/src/main.ts', 120],
    ['apps/auth/src/config.ts', 120],
    ['scripts/check.ts', 300],
  ])('takes %s with %d lines and no more', (file, limit) => {
    expect(withFiles({ [file]: lines(limit) })).toEqual([])
    expect(withFiles({ [file]: lines(limit + 1) })).toEqual([`${file}: ${limit + 1} lines, at most ${limit}`])
  })

  it('counts no content', () => {
    expect(
      withFiles({ 'packages/guides/content/visa.md': lines(900), 'packages/pages/src/page.css': lines(900) }),
    ).toEqual([])
  })

  it('keeps the median under 80 lines, not counting tests', () => {
    const many = (suffix: string) =>
      Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`scripts/n${n}${suffix}`, lines(80)]))
    expect(withFiles(many('.test.ts'))).toEqual([])
    expect(withFiles(many('.ts'))).toEqual(['the median file has 80 lines, it must have fewer than 80'])
  })

  it.each([
    'packages/http/src/utils.ts',
    'apps/auth/src/helpers/one.ts',
    'packages/common/src/index.ts',
    'e2e/test-helpers.ts',
  ])('refuses the empty name %s', (file) => {
    expect(withFiles({ [file]: '' })).toContain(`${file}: its name does not say what is inside`)
  })

  it('takes a name that only contains such a word', () => {
    expect(
      withFiles({ 'packages/http/src/shared-limits.ts': '', 'packages/http/src/commonmark.ts': '' }),
    ).toEqual([])
  })

  it('refuses a name that is not in kebab-case', () => {
    expect(withFiles({ 'packages/http/src/readBody.ts': '' })).toEqual([
      'packages/http/src/readBody.ts: its name is not in kebab-case',
    ])
  })

  it.each(Object.keys(TREE))('misses %s', (missing) => {
    const rest = Object.fromEntries(Object.entries(TREE).filter(([file]) => file !== missing))
    expect(breachesOf(checkSizes, rest)).toEqual([expect.stringMatching(/: missing from the tree$/)])
  })

  it('refuses a folder that the design does not name, and an index in an app', () => {
    expect(withFiles({ 'tools/one.ts': '' })).toEqual(['tools/: not a part of the tree'])
    expect(withFiles({ 'apps/auth/src/keys/index.ts': '' })).toEqual([
      'apps/auth/src/keys/index.ts: apps have no index',
    ])
  })
})
