import path from 'node:path'
import { mergeConfig } from 'vitest/config'
import config from './vitest.config.ts'

const measurementsFile = path.resolve('node_modules/.cache/test-timeline.jsonl')
const reportFile = path.resolve('node_modules/.cache/test-timeline.md')

/** All of `npm test`, and a report of where its time goes. */
export default mergeConfig(config, {
  test: {
    env: { TEST_TIMELINE_FILE: measurementsFile },
    setupFiles: ['./scripts/vitest/timeline-setup.ts'],
    reporters: [['./scripts/vitest/timeline-reporter.ts', { measurementsFile, reportFile }]],
  },
})
