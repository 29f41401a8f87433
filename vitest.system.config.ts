import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { findDebianPrograms, MissingPrograms } from './infra/stack/src/debian-program.ts'

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

/** Files that take a minute or more. They start first, so that none runs alone at the end. */
const SLOWEST = ['whole-stack', 'mail-kills', 'lifecycle', 'pages', 'cached-answers', 'resource-servers']

class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = SLOWEST.findIndex((name) => moduleId.includes(`/${name}.`))
      return index < 0 ? SLOWEST.length : index
    }
    return files.toSorted((a, b) => rank(a) - rank(b))
  }
}

const FAULTS = 'e2e/system/faults.test.ts'

/**
 * The whole topology: both apps twice, a gateway, PostgreSQL, Redis and a browser; and the tests of production intervals.
 * Faults run by themselves, since they judge how soon each request is answered. Of the others two run at a time on two cores:
 * with three, a slow machine sheds requests that are to succeed.
 */
export default defineConfig({
  test: {
    globalSetup: './packages/postgres/test/vitest-embedded.ts',
    maxWorkers: availableParallelism(),
    sequence: { sequencer: SlowestFirst },
    // What is waited for comes later on a busy machine.
    expect: { poll: { timeout: 10_000 } },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: [
      'default',
      './scripts/vitest/slow-files-reporter.ts',
      './scripts/vitest/closing-lines-reporter.ts',
    ],
    projects: [
      { extends: true, test: { name: 'faults', include: [FAULTS], sequence: { groupOrder: 0 } } },
      {
        extends: true,
        test: {
          name: 'system',
          include: [
            'e2e/system/**/*.test.ts',
            '{apps,bench,e2e,infra,packages,scripts}/**/*.production.test.ts',
          ],
          exclude: ['**/node_modules/**', FAULTS],
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
