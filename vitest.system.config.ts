import { availableParallelism } from 'node:os'
import path from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { findDebianPrograms, MissingPrograms } from './infra/stack/src/debian-program.ts'

// Ends the run before any test if a program from Debian is missing.
try {
  await findDebianPrograms(
    ['caddy', 'chromium', 'gcc', 'prometheus', 'promtool', 'redis-server', 'slowhttptest', 'spin'],
    process.env['PATH'] ?? '',
  )
} catch (error) {
  if (!(error instanceof MissingPrograms)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}

/**
 * Files that take a minute or more. They start first, so that none of them runs alone at the end. The files of the project `pages`
 * come one after another, since a worker that changes to another project loads all modules again.
 */
const SLOWEST = [
  ...['pages', 'safe-pages', 'page-tasks'],
  ...['whole-stack', 'mail-kills', 'cached-introspections', 'resource-servers'],
]

class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = SLOWEST.findIndex((name) => moduleId.includes(`/${name}.`))
      return index < 0 ? SLOWEST.length : index
    }
    return files.toSorted((a, b) => rank(a) - rank(b))
  }
}

/** Tests that measure how soon each request gets its response, so no other test runs at the same time. */
const FAULTS = ['e2e/system/faults.test.ts', 'e2e/system/lifecycle.test.ts']
/** Tests that share one stack. */
const PAGES = 'e2e/system/{pages,page-tasks,safe-pages}.test.ts'

/**
 * Tests of the whole topology (both apps twice, a gateway, PostgreSQL, Redis and a browser), tests of production intervals, and tests
 * whose processes use seconds of CPU time.
 *
 * Except for the tests of faults, as many files run at a time as the machine has cores: with three files at a time on two cores, a
 * slow machine sheds requests that should succeed.
 */
export default defineConfig({
  test: {
    maxWorkers: availableParallelism(),
    // As in `npm test`: files of a worker share its modules.
    isolate: false,
    env: { NODE_COMPILE_CACHE: path.resolve('node_modules/.cache/plainpath') },
    sequence: { sequencer: SlowestFirst },
    // On a busy machine, conditions take longer to become true.
    expect: { poll: { timeout: 30_000 } },
    testTimeout: 60_000,
    hookTimeout: 180_000,
    // A slow server needs longer than the default of 10 s to remove the databases of a run, and the run would count as failed.
    teardownTimeout: 120_000,
    setupFiles: ['./e2e/system/print-logs-of-failed-test.ts'],
    reporters: [
      'default',
      './scripts/vitest/slow-files-reporter.ts',
      './scripts/vitest/run-summary-reporter.ts',
    ],
    projects: [
      {
        extends: true,
        test: { name: 'faults', include: FAULTS, fileParallelism: false, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: {
          name: 'system',
          globalSetup: './packages/postgres/test/vitest-embedded.ts',
          include: [
            'e2e/system/**/*.test.ts',
            '{apps,bench,e2e,infra,packages,scripts}/**/*.{production,system}.test.ts',
          ],
          exclude: ['**/node_modules/**', ...FAULTS, PAGES],
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'pages',
          include: [PAGES],
          globalSetup: './e2e/system/pages-stack.ts',
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
