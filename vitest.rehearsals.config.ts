import { defineConfig } from 'vitest/config'

/** The tests that `npm run rehearse` runs while the stack is under load. */
export default defineConfig({
  test: {
    include: ['e2e/rehearsals/**/*.test.ts'],
    expect: { poll: { timeout: 10_000 } },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
