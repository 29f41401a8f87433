import { expect, test } from 'vitest'
import { checkDependencies } from './check-dependencies.ts'
import { DEPENDENCIES_PAGE } from './dependencies/dependencies-page.ts'
import { REASONS } from './dependencies/reasons.ts'
import { breachesOf } from './repository.fixture.ts'

const manifest = (names: readonly string[]) =>
  JSON.stringify({ dependencies: Object.fromEntries(names.map((name) => [name, 'catalog:'])) })
const breaches = (names: readonly string[]) =>
  breachesOf(checkDependencies, {
    'apps/auth/package.json': manifest(names),
    'pnpm-workspace.yaml': 'catalog:\n',
    [DEPENDENCIES_PAGE]: '',
  }).filter((breach) => !breach.startsWith(DEPENDENCIES_PAGE))

test('passes when every package has a reason', () => {
  expect(breaches(Object.keys(REASONS))).toEqual([])
})

test('catches a package without one, and a reason without a package', () => {
  expect(breaches([...Object.keys(REASONS), 'left-pad'])).toEqual([
    'scripts/dependencies/reasons.ts: left-pad has no reason',
  ])
  expect(breaches(Object.keys(REASONS).slice(1))).toEqual([
    `scripts/dependencies/reasons.ts: ${Object.keys(REASONS)[0]} is named by no manifest`,
  ])
})

test('catches a page that is not as the manifests are', () => {
  const stale = { 'package.json': '{}', 'pnpm-workspace.yaml': '', [DEPENDENCIES_PAGE]: 'stale' }
  expect(breachesOf(checkDependencies, stale)).toContain(
    `${DEPENDENCIES_PAGE}: not as the manifests are; npm run generate writes it anew`,
  )
})
