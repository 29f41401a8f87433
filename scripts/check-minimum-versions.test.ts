import { expect, it } from 'vitest'
import { checkMinimumVersions } from './check-minimum-versions.ts'
import { breachesOf } from './repository.fixture.ts'

const breachesOfLocked = (...ids: readonly string[]) => {
  const entries = ids.map((id) => `  ${id}:\n    resolution: {integrity: sha512-abc}\n\n`)
  const lockfile = `lockfileVersion: '9.0'\n\npackages:\n\n${entries.join('')}snapshots:\n\n  koa@1.0.0: {}\n`
  return breachesOf(checkMinimumVersions, { 'pnpm-lock.yaml': lockfile })
}

it('passes the first version without the flaw, later ones, and packages of similar names', () => {
  expect(
    breachesOfLocked(
      'koa@3.1.2',
      'koa@3.2.0',
      'koa@10.0.0',
      'koa-compose@1.0.0',
      "'@types/koa@3.0.3'",
      "'@modelcontextprotocol/sdk@1.32.2'",
    ),
  ).toEqual([])
})

it.each([
  ['koa@3.1.1', 'koa 3.1.1 is below 3.1.2 (CVE-2026-27959: a Host with `@` in it)'],
  ['koa@3.1.2-rc.1', 'koa 3.1.2-rc.1 is below 3.1.2 (CVE-2026-27959: a Host with `@` in it)'],
  ['koa@2.16.9', 'koa 2.16.9 is below 3.1.2 (CVE-2026-27959: a Host with `@` in it)'],
  [
    'qs@https://codeload.example/qs.tgz',
    'qs https://codeload.example/qs.tgz is below 6.14.1 (CVE-2025-15284: lists without a bound)',
  ],
])('catches %s, beside one that is right', (id, breach) => {
  expect(breachesOfLocked('koa@3.3.0', id)).toEqual([`pnpm-lock.yaml: ${breach}`])
})

it('catches a scoped one', () => {
  expect(breachesOfLocked("'@modelcontextprotocol/sdk@1.25.9'")[0]).toContain(
    '@modelcontextprotocol/sdk 1.25.9 is below 1.26.0',
  )
})
