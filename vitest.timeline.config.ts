import path from 'node:path'
import { mergeConfig } from 'vitest/config'
import config from './vitest.config.ts'

const measurementsFile = path.resolve('node_modules/.cache/test-timeline.jsonl')
const reportFile = path.resolve('node_modules/.cache/test-timeline.md')

/**
 * For `npm run test:timeline`: runs the tests of `npm test`, and writes to `reportFile` where their time went. The CPU times of
 * processes that tests start are read from `/proc`, so they are 0 on other systems than Linux. `mergeConfig` adds the reporter to
 * those of `npm test`, so slow files fail this run too.
 */
export default mergeConfig(config, {
  test: {
    env: { TEST_TIMELINE_FILE: measurementsFile },
    setupFiles: ['./scripts/vitest/timeline-setup.ts'],
    reporters: [['./scripts/vitest/timeline-reporter.ts', { measurementsFile, reportFile }]],
  },
})
