import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { cruise } from 'dependency-cruiser'
import { beforeAll, expect, it } from 'vitest'
import rules from '../.dependency-cruiser.mjs'

/** A constant, so that no tool takes the texts below for imports of this file. */
const DYNAMIC = 'import'

type Planted = [file: string, source: string]

/** Violations of each rule, each with a similar import that is permitted. */
const TWINS: { rule: string; breach: Planted; allowed: Planted }[] = [
  {
    rule: 'domain-knows-no-technology',
    breach: ['packages/domain/src/agent.ts', `import koa from 'koa'`],
    allowed: ['packages/domain/src/agent.ts', `import { z } from 'zod'`],
  },
  {
    rule: 'packages-serve-apps',
    breach: ['packages/http/src/serve.ts', `import { openAuth } from '@plainpath/auth'`],
    allowed: ['apps/local/src/main.ts', `import { openAuth } from '@plainpath/auth'`],
  },
  {
    rule: 'apps-meet-over-http',
    breach: ['apps/auth/src/app.ts', `import type { Guide } from '@plainpath/resource'`],
    allowed: ['apps/auth/src/app.ts', `import type { Guide } from '@plainpath/domain'`],
  },
  {
    rule: 'apps-meet-over-http',
    breach: ['apps/resource/src/app.ts', `import { openAuth } from '../../auth/src/main.ts'`],
    allowed: ['apps/resource/src/app.ts', `import { bearer } from './auth/bearer.ts'`],
  },
  {
    rule: 'one-folder-knows-oidc-provider',
    breach: ['apps/auth/src/wire.ts', `import type { Configuration } from 'oidc-provider'`],
    allowed: ['apps/auth/src/oauth/create-provider.ts', `import Provider from 'oidc-provider'`],
  },
  {
    rule: 'oidc-provider-by-its-name',
    breach: [
      'apps/auth/src/oauth/jwt-bearer-grant.ts',
      `import { InvalidGrant } from 'oidc-provider/lib/helpers/errors.js'`,
    ],
    allowed: ['apps/auth/src/oauth/jwt-bearer-grant.ts', `import { errors } from 'oidc-provider'`],
  },
  {
    rule: 'oidc-provider-by-its-name',
    breach: [
      'apps/auth/src/oauth/create-provider.ts',
      `const { default: get } = await ${DYNAMIC}('../../../../node_modules/oidc-provider/lib/helpers/weak_cache.js')`,
    ],
    allowed: [
      'apps/auth/src/oauth/create-provider.ts',
      `const { default: Provider } = await ${DYNAMIC}('oidc-provider')`,
    ],
  },
  {
    rule: 'ioredis-is-of-auth',
    breach: ['apps/resource/src/wire.ts', `import { Redis } from 'ioredis'`],
    allowed: ['apps/auth/src/wire.ts', `import { Redis } from 'ioredis'`],
  },
  {
    rule: 'redis-is-of-resource',
    breach: ['apps/auth/src/wire.ts', `const { createClient } = await ${DYNAMIC}('redis')`],
    allowed: ['apps/resource/src/wire.ts', `const { createClient } = await ${DYNAMIC}('redis')`],
  },
  {
    rule: 'token-store-is-chosen-in-stores',
    breach: [
      'apps/auth/src/wire.ts',
      `import { postgresTokenStore } from './tokens/postgres-token-store.ts'`,
    ],
    allowed: [
      'apps/auth/src/stores.ts',
      `import { postgresTokenStore } from './tokens/postgres-token-store.ts'`,
    ],
  },
  {
    rule: 'settings-are-handed-on',
    breach: ['apps/auth/src/keys/key-ring.ts', `import type { Config } from '../config.ts'`],
    allowed: ['apps/auth/src/cli.ts', `import { loadConfig } from './config.ts'`],
  },
  {
    rule: 'settings-are-given',
    breach: ['apps/auth/src/wire.ts', `import { loadConfig, type Config } from './config.ts'`],
    allowed: ['apps/auth/src/wire.ts', `import { type Config } from './config.ts'`],
  },
  {
    rule: 'package-directions',
    breach: ['packages/metadata/src/documents.ts', `export {\n  problem,\n} from '@plainpath/http'`],
    allowed: ['packages/metadata/src/documents.ts', `export {\n  Scope,\n} from '@plainpath/domain'`],
  },
  {
    rule: 'packages-by-name',
    breach: ['packages/http/src/problem.ts', `import { ok } from '../../domain/src/index.ts'`],
    allowed: ['packages/http/src/problem.ts', `import { ok } from '@plainpath/domain'`],
  },
  {
    rule: 'folders-of-an-app',
    breach: [
      'apps/resource/src/waitlist/join-waitlist.ts',
      `import type { Guide } from '../guides/guide-catalog.ts'`,
    ],
    allowed: [
      'apps/auth/src/oauth/token-adapter.ts',
      `import type { TokenStore } from '../tokens/token-store.ts'`,
    ],
  },
  {
    rule: 'folders-of-an-app',
    breach: [
      'apps/auth/src/oauth/guide-adapter.ts',
      `import type { BeginVerification } from '../verifications/begin-verification.ts'`,
    ],
    allowed: [
      'apps/auth/src/oauth/token-adapter.test.ts',
      `import type { BeginVerification } from '../verifications/begin-verification.ts'`,
    ],
  },
  {
    rule: 'no-programs-started',
    breach: ['apps/auth/src/agents/register-agent.ts', `import { spawn } from 'node:child_process'`],
    allowed: ['packages/postgres/src/embedded/start.ts', `import { spawn } from 'node:child_process'`],
  },
  {
    rule: 'no-programs-started',
    breach: ['packages/http/src/serve.ts', `const { Worker } = await ${DYNAMIC}('worker_threads')`],
    allowed: ['apps/auth/test/token.test.ts', `import { Worker } from 'node:worker_threads'`],
  },
  {
    rule: 'no-index-in-apps',
    breach: ['apps/auth/src/keys/key-ring.ts', `import { one } from './index.ts'`],
    allowed: ['apps/auth/src/keys/key-ring.ts', `import { one } from './guide-index.ts'`],
  },
  {
    rule: 'no-unknown-module',
    breach: ['apps/auth/src/keys/key-ring.ts', `import { one } from './none.ts'`],
    allowed: ['apps/auth/src/keys/key-ring.ts', `import { one } from './guide-index.ts'`],
  },
  {
    rule: 'no-cycle',
    breach: ['apps/auth/src/a/one.ts', `import type { Two } from './two.ts'`],
    allowed: ['apps/auth/src/a/top.ts', `import './left.ts'\nimport './right.ts'`],
  },
]

const WORKSPACE = [
  ['apps/auth', './src/main.ts'],
  ['apps/resource', './src/main.ts'],
  ['packages/domain', './src/index.ts'],
  ['packages/http', './src/index.ts'],
] as const

/** Files that planted files import. */
const IMPORTED_FILES: Planted[] = [
  ...['auth', 'resource'].map((name): Planted => [`apps/${name}/src/main.ts`, '']),
  ...['domain', 'http'].map((name): Planted => [`packages/${name}/src/index.ts`, '']),
  ['apps/auth/src/a/two.ts', `export * from './one.ts'`],
  ['apps/auth/src/a/left.ts', `import './bottom.ts'`],
  ['apps/auth/src/a/right.ts', `import './bottom.ts'`],
  ...[
    'apps/auth/src/a/bottom.ts',
    'apps/auth/src/config.ts',
    'apps/auth/src/verifications/begin-verification.ts',
    'apps/auth/src/tokens/postgres-token-store.ts',
    'apps/auth/src/keys/guide-index.ts',
    'apps/auth/src/keys/index.ts',
    'apps/auth/src/tokens/token-store.ts',
    'apps/resource/src/auth/bearer.ts',
    'apps/resource/src/guides/guide-catalog.ts',
    ...['zod', 'koa', 'ioredis', 'redis'].map((name) => `node_modules/${name}/index.js`),
    'node_modules/oidc-provider/lib/index.js',
    'node_modules/oidc-provider/lib/helpers/errors.js',
    'node_modules/oidc-provider/lib/helpers/weak_cache.js',
  ].map((file): Planted => [file, '']),
  ['node_modules/oidc-provider/package.json', '{"main":"lib/index.js"}'],
]

/** Checks the planted files against the rules. Returns each violation, with its file. */
async function checkImports(planted: readonly Planted[]): Promise<Violation[]> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'imports-'))
  try {
    for (const [file, source] of [...IMPORTED_FILES, ...planted]) {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
      writeFileSync(path.join(folder, file), `${source}\n`)
    }
    mkdirSync(path.join(folder, 'node_modules/@plainpath'))
    for (const [packageFolder, main] of WORKSPACE) {
      writeFileSync(path.join(folder, packageFolder, 'package.json'), JSON.stringify({ exports: main }))
      symlinkSync(
        path.join(folder, packageFolder),
        path.join(folder, 'node_modules/@plainpath', path.basename(packageFolder)),
      )
    }
    const { cache: _cache, ...options } = rules.options ?? {}
    const ruleSet = { forbidden: rules.forbidden ?? [] }
    const plantedFiles = planted.map(([file]) => file)
    const { output } = await cruise(
      plantedFiles,
      { ...options, validate: true, ruleSet, baseDir: folder },
      options.enhancedResolveOptions,
    )
    if (typeof output === 'string') throw new Error(output)
    return output.summary.violations.map(({ from, rule }) => ({ from, rule: rule.name }))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

interface Violation {
  readonly from: string
  readonly rule: string
}

/**
 * Checks files in as few runs as possible, since each run costs a tenth of a second. Only files of the same name go into different
 * runs.
 *
 * @returns for each file, all violations of its run
 */
async function checkTogether(files: readonly Planted[]): Promise<Map<Planted, Violation[]>> {
  const runs: Planted[][] = []
  for (const planted of files) {
    const run = runs.find((others) => others.every(([file]) => file !== planted[0]))
    if (run) run.push(planted)
    else runs.push([planted])
  }
  const results = new Map<Planted, Violation[]>()
  for (const run of runs) {
    const violations = await checkImports(run)
    for (const planted of run) results.set(planted, violations)
  }
  return results
}

let violationsByFile: Map<Planted, Violation[]>
beforeAll(async () => {
  const breaches = await checkTogether(TWINS.map(({ breach }) => breach))
  const allowed = await checkTogether(TWINS.map((twin) => twin.allowed))
  violationsByFile = new Map([...breaches, ...allowed])
})

it.each(TWINS)(
  '$rule: reports the breach in $breach.0, and accepts the twin in $allowed.0',
  ({ rule, breach, allowed }) => {
    expect(violationsByFile.get(breach)).toContainEqual({ from: breach[0], rule })
    expect(violationsByFile.get(allowed)).toEqual([])
  },
)

it('has a planted violation for each rule', () => {
  const planted = TWINS.map(({ rule }) => rule)
  expect(new Set(rules.forbidden?.map(({ name }) => name))).toEqual(new Set(planted))
})
