import { availableParallelism } from 'node:os'
import { defineConfig, type TestProjectConfiguration } from 'vitest/config'

const postgresUrl = process.env['TEST_POSTGRES_URL'] || undefined
const redisUrl = process.env['TEST_REDIS_URL'] || undefined

const ON_POSTGRES = [
  '{apps,packages,infra}/**/*.integration.test.ts',
  'apps/*/test/**/*.test.ts',
  'e2e/in-process/**/*.test.ts',
  'e2e/attacks/**/*.test.ts',
  'e2e/processes/**/*.test.ts',
]
const ON_REDIS = ['{apps,packages,e2e}/**/*.redis.test.ts']
const ANY = [
  '{apps,bench,packages,infra,scripts}/**/*.test.ts',
  'e2e/{faults,graphs,releases,revocation,soak}/**/*.test.ts',
]

const EMBEDDED = './packages/postgres/src/testing/vitest-embedded.ts'
const SERVER = './packages/postgres/src/testing/vitest-server.ts'

const EXCLUDED = ['**/node_modules/**']

/** @param options.setup the `globalSetup` that gives the project's tests their PostgreSQL. */
function project(
  name: string,
  options: { include: string[]; exclude?: string[]; setup?: string; redisUrl?: string | undefined },
): TestProjectConfiguration {
  return {
    extends: true,
    test: {
      name,
      include: options.include,
      exclude: [...EXCLUDED, ...(options.exclude ?? [])],
      globalSetup: options.setup ?? [],
      provide: { redisUrl: options.redisUrl },
    },
  }
}

/** Tests of stores run on the embedded PostgreSQL always, and once more on each server that is named. */
export default defineConfig({
  test: {
    // Files of a worker share its modules, which keep nothing: half of the time went into loading them again.
    isolate: false,
    testTimeout: 15_000,
    hookTimeout: 30_000,
    // The tests wait for databases more than they compute.
    maxWorkers: Math.min(4, Math.max(2, availableParallelism() - 1)),
    reporters: ['default', './scripts/closing-lines-reporter.ts'],
    projects: [
      project('unit', { include: ANY, exclude: [...ON_POSTGRES, ...ON_REDIS] }),
      project('embedded', { include: ON_POSTGRES, exclude: ON_REDIS, setup: EMBEDDED }),
      ...(postgresUrl
        ? [project('server', { include: ON_POSTGRES, exclude: ON_REDIS, setup: SERVER, redisUrl })]
        : []),
      ...(redisUrl
        ? [project('redis', { include: ON_REDIS, setup: postgresUrl ? SERVER : EMBEDDED, redisUrl })]
        : []),
    ],
  },
})
