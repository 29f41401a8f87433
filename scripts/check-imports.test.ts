import { describe, expect, it } from 'vitest'
import { checkImports } from './check-imports.ts'
import { IMPORT_RULES } from './import-rules.ts'
import { PATTERN_RULES } from './pattern-rules.ts'
import { breachesOf } from './repository.fixture.ts'

const plant = (file: string, source: string) => breachesOf(checkImports, { [file]: source })

/** Apart, so that the check does not take the text below for an import of this file. */
const DYNAMIC = 'import'

/** Each breach beside the nearest thing that is allowed. */
const TWINS: {
  because: RegExp
  breach: [file: string, source: string]
  allowed: [file: string, source: string]
}[] = [
  {
    because: /the domain knows no technology/,
    breach: ['packages/domain/src/agent.ts', `import koa from 'koa'`],
    allowed: ['packages/domain/src/agent.ts', `import { z } from 'zod'`],
  },
  {
    because: /packages serve the apps/,
    breach: ['packages/http/src/serve.ts', `import { openAuth } from '@plainpath/auth/wire'`],
    allowed: ['apps/local/src/main.ts', `import { openAuth } from '@plainpath/auth/wire'`],
  },
  {
    because: /the two apps meet over HTTP only/,
    breach: ['apps/auth/src/app.ts', `import type { Guide } from '@plainpath/resource/wire'`],
    allowed: ['apps/auth/src/app.ts', `import type { Guide } from '@plainpath/domain'`],
  },
  {
    because: /the two apps meet over HTTP only/,
    breach: ['apps/resource/src/app.ts', `import { openAuth } from '../../auth/src/wire.ts'`],
    allowed: ['apps/resource/src/app.ts', `import { bearer } from './auth/bearer.ts'`],
  },
  {
    because: /one folder knows the library/,
    breach: ['apps/auth/src/wire.ts', `import type { Configuration } from 'oidc-provider'`],
    allowed: ['apps/auth/src/oauth/create-provider.ts', `import Provider from 'oidc-provider'`],
  },
  {
    because: /the inside of oidc-provider/,
    breach: [
      'apps/auth/src/oauth/jwt-bearer-grant.ts',
      `import { InvalidGrant } from 'oidc-provider/lib/helpers/errors.js'`,
    ],
    allowed: ['apps/auth/src/oauth/jwt-bearer-grant.ts', `import { errors } from 'oidc-provider'`],
  },
  {
    because: /the inside of oidc-provider/,
    breach: [
      'apps/auth/src/oauth/create-provider.ts',
      `const { default: get } = await ${DYNAMIC}('../../node_modules/oidc-provider/lib/helpers/weak_cache.js')`,
    ],
    allowed: [
      'apps/auth/src/oauth/create-provider.ts',
      `const { default: Provider } = await ${DYNAMIC}('oidc-provider')`,
    ],
  },
  {
    because: /ioredis is the client of apps\/auth/,
    breach: ['apps/resource/src/wire.ts', `import { Redis } from 'ioredis'`],
    allowed: ['apps/auth/src/wire.ts', `import { Redis } from 'ioredis'`],
  },
  {
    because: /redis is the client of apps\/resource/,
    breach: ['apps/auth/src/wire.ts', `const { createClient } = await ${DYNAMIC}('redis')`],
    allowed: ['apps/resource/src/wire.ts', `const { createClient } = await ${DYNAMIC}('redis')`],
  },
  {
    because: /a store is chosen in wire\.ts/,
    breach: [
      'apps/auth/src/agents/register-agent.ts',
      `import { postgresAgentStore } from './postgres-agent-store.ts'`,
    ],
    allowed: [
      'apps/auth/src/wire.ts',
      `import { postgresAgentStore } from './agents/postgres-agent-store.ts'`,
    ],
  },
  {
    because: /settings are read once/,
    breach: ['apps/auth/src/keys/key-ring.ts', `import type { Config } from '../config.ts'`],
    allowed: ['apps/auth/src/cli.ts', `import { loadConfig } from './config.ts'`],
  },
  {
    because: /wire\.ts and app\.ts are given the settings/,
    breach: ['apps/auth/src/wire.ts', `import { loadConfig, type Config } from './config.ts'`],
    allowed: ['apps/auth/src/wire.ts', `import { type Config } from './config.ts'`],
  },
  {
    because: /of our packages, metadata may import domain/,
    breach: ['packages/metadata/src/index.ts', `export {\n  problem,\n} from '@plainpath/http'`],
    allowed: ['packages/metadata/src/index.ts', `export {\n  Scope,\n} from '@plainpath/domain'`],
  },
  {
    because: /another package is imported by its name/,
    breach: ['packages/http/src/problem.ts', `import { ok } from '../../domain/src/result.ts'`],
    allowed: ['packages/http/src/problem.ts', `import { ok } from '@plainpath/domain'`],
  },
  {
    because: /folders of an app do not know each other/,
    breach: [
      'apps/resource/src/waitlist/join-waitlist.ts',
      `import type { Guide } from '../guides/guide-catalog.ts'`,
    ],
    allowed: [
      'apps/auth/src/oauth/token-adapter.ts',
      `import type { TokenStore } from '../tokens/token-store.ts'`,
    ],
  },
  {
    because: /the environment is read in main\.ts/,
    breach: ['apps/auth/src/config.ts', `export const port = process.env['AUTH_PORT']`],
    allowed: ['apps/auth/src/main.ts', `run(process.env)`],
  },
  {
    because: /nothing depends on a name for where it runs/,
    breach: ['packages/http/src/log.ts', `if (env['NODE_ENV'] === 'test') quiet()`],
    allowed: ['packages/http/src/log.ts', `if (env['LOG_LEVEL'] === 'error') quiet()`],
  },
  {
    because: /a test passes a fake/,
    breach: ['packages/http/src/log.test.ts', `vi.spyOn(log, 'error')`],
    allowed: ['packages/http/src/log.test.ts', `const print = vi.fn()`],
  },
  {
    because: /a test waits for what it expects/,
    breach: ['apps/auth/test/token.test.ts', `await new Promise((resolve) => setTimeout(resolve, 50))`],
    allowed: ['apps/auth/test/token.test.ts', `await expect.poll(() => seen).toBe(true)`],
  },
  {
    because: /a test waits for what it expects/,
    breach: ['e2e/in-process/journey.test.ts', `import { setTimeout as pause } from 'node:timers/promises'`],
    allowed: [
      'e2e/in-process/journey.test.ts',
      `import { setImmediate as turn } from 'node:timers/promises'`,
    ],
  },
  {
    because: /what a run chooses comes from its seed/,
    breach: ['e2e/faults/link.ts', `const delay = fault.ms * Math.random()`],
    allowed: ['e2e/faults/link.ts', `const delay = fault.ms * random()`],
  },
  {
    because: /what is left to do is an issue/,
    breach: ['packages/http/src/log.ts', `// TODO: redact`],
    allowed: ['packages/http/src/log.ts', `// Redacted by name.`],
  },
]

describe('imports', () => {
  it.each(TWINS)(
    '$because: caught in $breach.0, and its twin in $allowed.0 passes',
    ({ because, breach, allowed }) => {
      const breaches = plant(...breach)
      expect(breaches.join('\n')).toMatch(because)
      expect(breaches[0]).toContain(`${breach[0]}:`)
      expect(plant(...allowed)).toEqual([])
    },
  )

  it('has a planted breach for each rule', () => {
    for (const { because } of [...IMPORT_RULES, ...PATTERN_RULES])
      expect(
        TWINS.some((twin) => twin.because.test(because)),
        because,
      ).toBe(true)
  })

  it('finds a circle of imports once, and takes a diamond for none', () => {
    const circle = {
      'apps/auth/src/a/one.ts': `import { two } from './two.ts'`,
      'apps/auth/src/a/two.ts': `import type { Three } from './three.ts'`,
      'apps/auth/src/a/three.ts': `export * from './one.ts'`,
    }
    expect(breachesOf(checkImports, circle)).toEqual([
      'apps/auth/src/a/one.ts: imports itself: apps/auth/src/a/one.ts → apps/auth/src/a/two.ts → apps/auth/src/a/three.ts → apps/auth/src/a/one.ts',
    ])
    const diamond = {
      'apps/auth/src/a/top.ts': `import './left.ts'\nimport './right.ts'`,
      'apps/auth/src/a/left.ts': `import './bottom.ts'`,
      'apps/auth/src/a/right.ts': `import './bottom.ts'`,
      'apps/auth/src/a/bottom.ts': '',
    }
    expect(breachesOf(checkImports, diamond)).toEqual([])
  })
})
