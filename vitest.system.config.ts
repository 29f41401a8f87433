import { defineConfig } from 'vitest/config'
import { debianPrograms, MissingPrograms } from './infra/stack/src/debian-program.ts'

try {
  await debianPrograms(
    ['caddy', 'chromium', 'gcc', 'prometheus', 'promtool', 'redis-server', 'slowhttptest', 'spin'],
    process.env['PATH'] ?? '',
  )
} catch (error) {
  if (!(error instanceof MissingPrograms)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}

/** What runs as separate processes: both apps twice, a gateway, PostgreSQL, Redis and a browser. One file at a time. */
export default defineConfig({
  test: {
    name: 'system',
    include: ['e2e/system/**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default', './scripts/closing-lines-reporter.ts'],
  },
})
