import path from 'node:path'
import { mergeConfig } from 'vitest/config'
import config from './vitest.config.ts'

const measurementsFile = path.resolve('node_modules/.cache/test-timeline.jsonl')
const reportFile = path.resolve('node_modules/.cache/test-timeline.md')

/** Runs the tests of `npm test`, and reports where their time goes. */
export default mergeConfig(config, {
  test: {
    env: { TEST_TIMELINE_FILE: measurementsFile },
    setupFiles: ['./scripts/vitest/timeline-setup.ts'],
    reporters: [['./scripts/vitest/timeline-reporter.ts', { measurementsFile, reportFile }]],
  },
})
