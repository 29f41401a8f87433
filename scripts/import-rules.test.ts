import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { cruise } from 'dependency-cruiser'
import { beforeAll, expect, it } from 'vitest'
import rules from '../.dependency-cruiser.mjs'

/** A constant, so that no tool mistakes the strings below for imports of this file. */
const IMPORT_KEYWORD = 'import'

type PlantedFile = [file: string, source: string]

/** For each rule, an import that violates it and a similar import that is allowed. */
const RULE_CASES: { rule: string; violation: PlantedFile; allowed: PlantedFile }[] = [
  {
    rule: 'domain-has-few-dependencies',
    violation: ['packages/domain/src/agent.ts', `import koa from 'koa'`],
    allowed: ['packages/domain/src/agent.ts', `import { z } from 'zod'`],
  },
  {
    rule: 'packages-do-not-import-apps',
    violation: ['packages/http/src/serve.ts', `import { openAuth } from '@plainpath/auth'`],
    allowed: ['apps/local/src/main.ts', `import { openAuth } from '@plainpath/auth'`],
  },
  {
    rule: 'apps-do-not-import-each-other',
    violation: ['apps/auth/src/app.ts', `import type { Guide } from '@plainpath/resource'`],
    allowed: ['apps/auth/src/app.ts', `import type { Guide } from '@plainpath/domain'`],
  },
  {
    rule: 'apps-do-not-import-each-other',
    violation: ['apps/resource/src/app.ts', `import { openAuth } from '../../auth/src/main.ts'`],
    allowed: ['apps/resource/src/app.ts', `import { bearer } from './auth/bearer.ts'`],
  },
  {
    rule: 'only-oauth-folder-uses-oidc-provider',
    violation: ['apps/auth/src/wire.ts', `import type { Configuration } from 'oidc-provider'`],
    allowed: ['apps/auth/src/oauth/create-provider.ts', `import Provider from 'oidc-provider'`],
  },
  {
    rule: 'no-oidc-provider-internals',
    violation: [
      'apps/auth/src/oauth/app-adapters.ts',
      `import { InvalidGrant } from 'oidc-provider/lib/helpers/errors.js'`,
    ],
    allowed: ['apps/auth/src/oauth/app-adapters.ts', `import { errors } from 'oidc-provider'`],
  },
  {
    rule: 'no-oidc-provider-internals',
    violation: [
      'apps/auth/src/oauth/create-provider.ts',
      `const { default: get } = await ${IMPORT_KEYWORD}('../../../../node_modules/oidc-provider/lib/helpers/weak_cache.js')`,
    ],
    allowed: [
      'apps/auth/src/oauth/create-provider.ts',
      `const { default: Provider } = await ${IMPORT_KEYWORD}('oidc-provider')`,
    ],
  },
  {
    rule: 'only-auth-uses-ioredis',
    violation: ['apps/resource/src/wire.ts', `import { Redis } from 'ioredis'`],
    allowed: ['apps/auth/src/wire.ts', `import { Redis } from 'ioredis'`],
  },
  {
    rule: 'only-resource-uses-redis',
    violation: ['apps/auth/src/wire.ts', `const { createClient } = await ${IMPORT_KEYWORD}('redis')`],
    allowed: ['apps/resource/src/wire.ts', `const { createClient } = await ${IMPORT_KEYWORD}('redis')`],
  },
  {
    rule: 'only-stores-chooses-token-store',
    violation: [
      'apps/auth/src/wire.ts',
      `import { postgresTokenStore } from './tokens/postgres-token-store.ts'`,
    ],
    allowed: [
      'apps/auth/src/stores.ts',
      `import { postgresTokenStore } from './tokens/postgres-token-store.ts'`,
    ],
  },
  {
    rule: 'config-is-passed-as-values',
    violation: ['apps/auth/src/keys/key-ring.ts', `import type { Config } from '../config.ts'`],
    allowed: ['apps/auth/src/cli.ts', `import { loadConfig } from './config.ts'`],
  },
  {
    rule: 'wiring-does-not-load-config',
    violation: ['apps/auth/src/wire.ts', `import { loadConfig, type Config } from './config.ts'`],
    allowed: ['apps/auth/src/wire.ts', `import { type Config } from './config.ts'`],
  },
  {
    rule: 'package-imports-are-listed',
    violation: ['packages/metadata/src/documents.ts', `export {\n  problem,\n} from '@plainpath/http'`],
    allowed: ['packages/metadata/src/documents.ts', `export {\n  Scope,\n} from '@plainpath/domain'`],
  },
  {
    rule: 'packages-are-imported-by-name',
    violation: ['packages/http/src/problem.ts', `import { ok } from '../../domain/src/index.ts'`],
    allowed: ['packages/http/src/problem.ts', `import { ok } from '@plainpath/domain'`],
  },
  {
    rule: 'folder-imports-are-listed',
    violation: [
      'apps/resource/src/waitlist/join-waitlist.ts',
      `import type { Guide } from '../guides/guide-catalog.ts'`,
    ],
    allowed: [
      'apps/auth/src/oauth/token-adapter.ts',
      `import type { TokenStore } from '../tokens/token-store.ts'`,
    ],
  },
  {
    rule: 'folder-imports-are-listed',
    violation: [
      'apps/auth/src/oauth/guide-adapter.ts',
      `import type { BeginVerification } from '../verifications/begin-verification.ts'`,
    ],
    allowed: [
      'apps/auth/src/oauth/token-adapter.test.ts',
      `import type { BeginVerification } from '../verifications/begin-verification.ts'`,
    ],
  },
  {
    rule: 'apps-start-no-programs',
    violation: ['apps/auth/src/agents/register-agent.ts', `import { spawn } from 'node:child_process'`],
    allowed: ['packages/postgres/src/embedded/start.ts', `import { spawn } from 'node:child_process'`],
  },
  {
    rule: 'apps-start-no-programs',
    violation: ['packages/http/src/serve.ts', `const { Worker } = await ${IMPORT_KEYWORD}('worker_threads')`],
    allowed: ['apps/auth/test/token.test.ts', `import { Worker } from 'node:worker_threads'`],
  },
  {
    rule: 'no-index-in-apps',
    violation: ['apps/auth/src/keys/key-ring.ts', `import { one } from './index.ts'`],
    allowed: ['apps/auth/src/keys/key-ring.ts', `import { one } from './guide-index.ts'`],
  },
  {
    rule: 'no-unknown-module',
    violation: ['apps/auth/src/keys/key-ring.ts', `import { one } from './none.ts'`],
    allowed: ['apps/auth/src/keys/key-ring.ts', `import { one } from './guide-index.ts'`],
  },
  {
    rule: 'no-cycle',
    violation: ['apps/auth/src/a/one.ts', `import type { Two } from './two.ts'`],
    allowed: ['apps/auth/src/a/top.ts', `import './left.ts'\nimport './right.ts'`],
  },
]

/** The packages that planted files import by name: the folder of each, and the file that it exports. */
const WORKSPACE = [
  ['apps/auth', './src/main.ts'],
  ['apps/resource', './src/main.ts'],
  ['packages/domain', './src/index.ts'],
  ['packages/http', './src/index.ts'],
] as const

/** The files that planted files import, directly or indirectly. Most are empty, since the rules look only at imports. */
const IMPORTED_FILES: PlantedFile[] = [
  ...['auth', 'resource'].map((name): PlantedFile => [`apps/${name}/src/main.ts`, '']),
  ...['domain', 'http'].map((name): PlantedFile => [`packages/${name}/src/index.ts`, '']),
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
  ].map((file): PlantedFile => [file, '']),
  ['node_modules/oidc-provider/package.json', '{"main":"lib/index.js"}'],
]

/** Checks the planted files against the rules. Returns each violation, with its file. */
async function checkImports(planted: readonly PlantedFile[]): Promise<Violation[]> {
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
 * Checks files in as few runs as possible, since each run costs a tenth of a second. Two versions of one file go into different
 * runs.
 *
 * @returns for each file, all violations of its run, so a test must look for its own file
 */
async function checkTogether(files: readonly PlantedFile[]): Promise<Map<PlantedFile, Violation[]>> {
  const runs: PlantedFile[][] = []
  for (const planted of files) {
    const freeRun = runs.find((run) => run.every(([file]) => file !== planted[0]))
    if (freeRun) freeRun.push(planted)
    else runs.push([planted])
  }
  const results = new Map<PlantedFile, Violation[]>()
  for (const run of runs) {
    const violations = await checkImports(run)
    for (const planted of run) results.set(planted, violations)
  }
  return results
}

let violationsByFile: Map<PlantedFile, Violation[]>
beforeAll(async () => {
  const violating = await checkTogether(RULE_CASES.map(({ violation }) => violation))
  const allowed = await checkTogether(RULE_CASES.map((ruleCase) => ruleCase.allowed))
  violationsByFile = new Map([...violating, ...allowed])
})

it.each(RULE_CASES)(
  '$rule rejects the import in $violation.0 and allows the one in $allowed.0',
  ({ rule, violation, allowed }) => {
    expect(violationsByFile.get(violation)).toContainEqual({ from: violation[0], rule })
    expect(violationsByFile.get(allowed)).toEqual([])
  },
)

it('every rule has a planted violation', () => {
  const plantedRules = RULE_CASES.map(({ rule }) => rule)
  expect(new Set(rules.forbidden?.map(({ name }) => name))).toEqual(new Set(plantedRules))
})
