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

/** Targets of a command that match the reports of the instances. */
const SAME: Record<string, [Partial<CommandTarget>, InstanceReport[], TokenStoreIdentity?]> = {
  'the Redis of the instances, by another name': [{}, [INSTANCE, INSTANCE]],
  'a service that never ran': [{}, []],
  'instances of an earlier release, which report nothing': [{}, [{ host: 'auth-1:7' }], REDIS],
  'PostgreSQL, as the instances': [
    { tokens: { settings: { kind: 'postgresql' }, redisId: undefined } },
    [{ ...INSTANCE, tokenStore: { kind: 'postgresql' } }],
  ],
  'no store of tokens': [{ tokens: undefined }, [INSTANCE]],
  'a key that every instance has': [{ kekId: 'new' }, [INSTANCE]],
  'a Redis that was restarted while no instance ran': [
    { tokens: { settings: { ...SETTINGS, address: 'redis:6379' }, redisId: undefined } },
    [],
    REDIS,
  ],
}
test.for(Object.entries(SAME))('accepts %s', ([, [target, instances, last]]) => {
  expect(findMismatch({ ...TARGET, ...target }, instances, last)).toBeUndefined()
})

const DIFFERENT: Record<
  string,
  [Partial<CommandTarget>, InstanceReport[], TokenStoreIdentity | undefined, RegExp]
> = {
  'PostgreSQL beside Redis': [
    { tokens: { settings: { kind: 'postgresql' }, redisId: undefined } },
    [INSTANCE],
    undefined,
    /AUTH_REDIS_URL is not set/,
  ],
  'Redis beside PostgreSQL': [
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
  'a Redis without an id beside a running instance': [
    { tokens: { settings: { ...SETTINGS, address: 'redis:6379' }, redisId: undefined } },
    [INSTANCE],
    undefined,
    /another Redis/,
  ],
  'what no instance has used last': [
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
    /^auth-2:7 cannot open/,
  ],
}
test.for(Object.entries(DIFFERENT))('refuses %s', ([, [target, instances, last, says]]) => {
  expect(findMismatch({ ...TARGET, ...target }, instances, last)).toMatch(says)
})
