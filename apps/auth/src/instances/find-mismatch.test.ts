import { expect, test } from 'vitest'
import type { TokenStoreIdentity } from '../tokens/token-store-identity.ts'
import { type CommandTarget, findMismatch, type InstanceReport } from './find-mismatch.ts'

const REDIS: TokenStoreIdentity = {
  kind: 'redis',
  id: 'one',
  prefix: 'auth:',
  database: 0,
  address: 'redis:6379',
}
/** Settings of a command that reaches `REDIS` under another host name. `redisId` in `TARGET` shows that it is the same Redis. */
const SETTINGS = { kind: 'redis', prefix: 'auth:', database: 0, address: 'other-name:6379' } as const
const TARGET: CommandTarget = {
  origin: 'https://plainpath.example',
  tokens: { settings: SETTINGS, redisId: 'one' },
  kekId: undefined,
}
const INSTANCE: InstanceReport = {
  host: 'auth-1:7',
  origin: TARGET.origin,
  tokenStore: REDIS,
  kekIds: ['new', 'old'],
}

/** Commands that match the instances, each by the changes to `TARGET`, the reports, and the last token store. */
const MATCHES: Record<string, [Partial<CommandTarget>, InstanceReport[], TokenStoreIdentity?]> = {
  'the Redis of the instances, under another address': [{}, [INSTANCE, INSTANCE]],
  'a service that has never had an instance': [{}, []],
  'instances of an earlier release, which report nothing': [{}, [{ host: 'auth-1:7' }], REDIS],
  'PostgreSQL, which the instances use too': [
    { tokens: { settings: { kind: 'postgresql' }, redisId: undefined } },
    [{ ...INSTANCE, tokenStore: { kind: 'postgresql' } }],
  ],
  'a command that uses no tokens': [{ tokens: undefined }, [INSTANCE]],
  'a key that every instance has': [{ kekId: 'new' }, [INSTANCE]],
  'a Redis that was restarted while no instance ran': [
    { tokens: { settings: { ...SETTINGS, address: 'redis:6379' }, redisId: undefined } },
    [],
    REDIS,
  ],
}
test.for(Object.entries(MATCHES))('findMismatch accepts %s', ([, [target, instances, lastTokenStore]]) => {
  expect(findMismatch({ ...TARGET, ...target }, instances, lastTokenStore)).toBeUndefined()
})

/** Commands that do not match, in the form of `MATCHES`, each with the expected message. */
const MISMATCHES: Record<
  string,
  [Partial<CommandTarget>, InstanceReport[], TokenStoreIdentity | undefined, RegExp]
> = {
  'a command with PostgreSQL and an instance with Redis': [
    { tokens: { settings: { kind: 'postgresql' }, redisId: undefined } },
    [INSTANCE],
    undefined,
    /AUTH_REDIS_URL is not set/,
  ],
  'a command with Redis and an instance with PostgreSQL': [
    {},
    [{ ...INSTANCE, tokenStore: { kind: 'postgresql' } }],
    undefined,
    /Unset it/,
  ],
  'one of two instances with another Redis': [
    {},
    [INSTANCE, { ...INSTANCE, host: 'auth-2:7', tokenStore: { ...REDIS, id: 'two' } }],
    undefined,
    /^auth-2:7 .*another Redis/,
  ],
  'a Redis without an id while an instance is running': [
    { tokens: { settings: { ...SETTINGS, address: 'redis:6379' }, redisId: undefined } },
    [INSTANCE],
    undefined,
    /another Redis/,
  ],
  'a Redis other than the one that the last instance used': [
    { tokens: { settings: SETTINGS, redisId: 'two' } },
    [],
    REDIS,
    /^The last instance/,
  ],
  'another database': [
    { tokens: { settings: { ...SETTINGS, database: 3 }, redisId: undefined } },
    [INSTANCE],
    undefined,
    /names database 3/,
  ],
  'another prefix': [
    { tokens: { settings: { ...SETTINGS, prefix: 'x:' }, redisId: 'one' } },
    [INSTANCE],
    undefined,
    /begin with auth:/,
  ],
  'another origin': [
    { origin: 'https://a.example' },
    [INSTANCE],
    undefined,
    /serves https:\/\/plainpath\.example/,
  ],
  'a key that one instance lacks': [
    { kekId: 'new' },
    [INSTANCE, { ...INSTANCE, host: 'auth-2:7', kekIds: ['old'] }],
    undefined,
    /^auth-2:7 cannot decrypt/,
  ],
}
test.for(Object.entries(MISMATCHES))(
  'findMismatch reports %s',
  ([, [target, instances, lastTokenStore, message]]) => {
    expect(findMismatch({ ...TARGET, ...target }, instances, lastTokenStore)).toMatch(message)
  },
)
