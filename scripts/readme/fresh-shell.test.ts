import { expect, it } from 'vitest'
import { freshShell } from './fresh-shell.ts'

it('keeps what a shell has, and nothing that npm, the bootstrap or our settings added', () => {
  const env = {
    HOME: '/home/ana',
    PATH: '/clone/node_modules/.bin:/npm/node-gyp-bin:/usr/bin:/bin',
    npm_lifecycle_event: 'check',
    INIT_CWD: '/clone',
    AUTH_REDIS_URL: 'redis://elsewhere',
    TEST_POSTGRES_URL: 'postgresql://elsewhere',
    PORT: '1',
    UNSET: undefined,
  }
  expect(freshShell(env)).toEqual({ HOME: '/home/ana', PATH: '/usr/bin:/bin' })
})
