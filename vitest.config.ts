import { availableParallelism } from 'node:os'
import path from 'node:path'
import { defineConfig, type TestProjectConfiguration } from 'vitest/config'
import RandomOrderSequencer from './scripts/vitest/random-order.ts'

const postgresUrl = process.env['TEST_POSTGRES_URL'] || undefined
const redisUrl = process.env['TEST_REDIS_URL'] || undefined

const ON_POSTGRES = [
  '{apps,packages,infra}/**/*.integration.test.ts',
  'apps/*/test/**/*.test.ts',
  'e2e/in-process/**/*.test.ts',
  'e2e/attacks/**/*.test.ts',
]
const ON_REDIS = ['{apps,packages,e2e}/**/*.redis.test.ts']
const WITH_PROCESSES = ['{apps,bench,e2e,infra,packages,scripts}/**/*.process.test.ts']
const NOT_ON_POSTGRES = [...ON_REDIS, ...WITH_PROCESSES]
/** The unit project runs those of these files that the patterns above do not match. */
const UNIT_CANDIDATES = [
  '{apps,bench,packages,infra,scripts}/**/*.test.ts',
  'e2e/{faults,graphs,releases,revocation,soak}/**/*.test.ts',
]

const EMBEDDED = './packages/postgres/test/vitest-embedded.ts'
const SERVER = './packages/postgres/test/vitest-server.ts'

/** `npm run test:system` runs the files `*.production.test.ts` and `*.system.test.ts`. */
const EXCLUDED = ['**/node_modules/**', '**/*.{production,system}.test.ts']

/** Defines a test project. @param options.setup the `globalSetup` that gives the project's tests their PostgreSQL */
function createProject(
  name: string,
  options: {
    include: string[]
    exclude?: string[]
    setup?: string
    setupFiles?: string[]
    redisUrl?: string | undefined
  },
): TestProjectConfiguration {
  return {
    extends: true,
    test: {
      name,
      include: options.include,
      exclude: [...EXCLUDED, ...(options.exclude ?? [])],
      globalSetup: options.setup ?? [],
      setupFiles: options.setupFiles ?? [],
      provide: { redisUrl: options.redisUrl },
    },
  }
}

/**
 * Tests on PostgreSQL always run on the embedded server. They run once more on the server that TEST_POSTGRES_URL names, if it is
 * set. Tests on Redis run only if TEST_REDIS_URL is set.
 */
export default defineConfig({
  test: {
    // The files of a worker share its modules, because loading them again for each file took half of the time. No test relies on the
    // state of a module.
    isolate: false,
    // A cache of compiled code, so that apps started as processes load faster.
    env: { NODE_COMPILE_CACHE: path.resolve('node_modules/.cache/plainpath') },
    // On a busy machine, conditions take longer to become true.
    expect: { poll: { timeout: 30_000, interval: 20 } },
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // A slow server needs longer than the default of 10 s to remove the databases of a run, and the run would count as failed.
    teardownTimeout: 120_000,
    // Measured: on two cores three workers are a fifth faster than two, and four are no faster than three.
    maxWorkers: Math.min(8, availableParallelism() + 1),
    sequence: { sequencer: RandomOrderSequencer },
    reporters: [
      'default',
      // A run of all files fails if one of them takes more than a tenth of the time of all.
      ['./scripts/vitest/slow-files-reporter.ts', { maxShare: 0.1 }],
      './scripts/vitest/run-summary-reporter.ts',
    ],
    projects: [
      createProject('unit', {
        include: UNIT_CANDIDATES,
        exclude: [...ON_POSTGRES, ...ON_REDIS, ...WITH_PROCESSES],
        setupFiles: ['./scripts/vitest/forbid-processes.ts'],
      }),
      createProject('process', { include: WITH_PROCESSES }),
      createProject('embedded', { include: ON_POSTGRES, exclude: NOT_ON_POSTGRES, setup: EMBEDDED }),
      ...(postgresUrl
        ? [
            createProject('server', {
              include: ON_POSTGRES,
              exclude: NOT_ON_POSTGRES,
              setup: SERVER,
              redisUrl,
            }),
          ]
        : []),
      ...(redisUrl
        ? [createProject('redis', { include: ON_REDIS, setup: postgresUrl ? SERVER : EMBEDDED, redisUrl })]
        : []),
    ],
  },
})
