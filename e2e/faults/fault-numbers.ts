/** A test of a fault. */
export interface FaultTest {
  /** The path from the root of the repository. */
  readonly file: string
  /** The title in the source, or a part of it. */
  readonly title: string
}

const listTests = (file: string, ...titles: readonly string[]): FaultTest[] =>
  titles.map((title) => ({ file, title }))

/**
 * The faults by number. `tests` must list the tests whose titles lack the number; `findFaultTests` finds the others by
 * their titles. A fault without a scenario in `catalogue.ts` does not concern a running stack, so `npm run faults` runs
 * its tests instead.
 */
export const FAULT_NUMBERS = {
  'F-01': {
    fault: 'PostgreSQL is down',
    tests: [...listTests('apps/auth/test/store-down.test.ts', 'F-01, F-02 while the database %s')],
  },
  'F-02': { fault: 'PostgreSQL is frozen', tests: [] },
  'F-03': { fault: 'PostgreSQL is slow', tests: [] },
  'F-04': { fault: 'sessions end in the middle of a transaction', tests: [] },
  'F-05': {
    fault: 'the reply to a COMMIT is lost',
    tests: [
      ...listTests(
        'apps/resource/test/contact-storage.test.ts',
        'returns the same message for a repeated request',
      ),
    ],
  },
  'F-06': {
    fault: 'PostgreSQL is read-only',
    tests: [...listTests('apps/auth/test/store-down.test.ts', 'F-06 while the database is read-only')],
  },
  'F-07': {
    fault: 'failover to a standby',
    tests: [
      ...listTests(
        'apps/auth/test/durability.test.ts',
        'flushes a recorded use, a revocation, a deletion and a used assertion to disk before responding',
      ),
    ],
  },
  'F-08': {
    fault: 'a stale replica is read',
    tests: [
      ...listTests('e2e/faults/catalogue.test.ts', 'F-08 neither app has a second database to read from'),
    ],
  },
  'F-09': { fault: 'the disk for the data is full', tests: [] },
  'F-10': { fault: 'the disk for the write-ahead log is full', tests: [] },
  'F-11': { fault: 'too many connections', tests: [] },
  'F-12': {
    fault: 'locks, deadlocks',
    tests: [
      ...listTests(
        'packages/postgres/src/database.integration.test.ts',
        'a lock that is not free within 0.5 s',
      ),
    ],
  },
  'F-13': {
    fault: 'Redis is down',
    tests: [
      ...listTests('apps/auth/test/redis-down.redis.test.ts', 'F-13 refuses connections'),
      ...listTests(
        'e2e/system/faults.test.ts',
        'while Redis is unavailable, each process counts limits by itself',
      ),
    ],
  },
  'F-14': { fault: 'Redis is frozen', tests: [] },
  'F-15': { fault: 'Redis evicts keys, is full, is loading, or is read-only', tests: [] },
  'F-16': { fault: 'Redis restarts without data, or with older data', tests: [] },
  'F-17': {
    fault: 'the clock of an instance is wrong',
    tests: [
      ...listTests(
        'packages/http/src/readiness/watch-clock.test.ts',
        'F-17 notices a step of the clock while the database is down',
      ),
    ],
  },
  'F-18': { fault: 'kill -9 of an instance', tests: [] },
  'F-19': { fault: 'SIGTERM under load', tests: [] },
  'F-20': {
    fault: 'keys rotate',
    tests: [...listTests('e2e/system/keys.test.ts', 'rotations between ES256 and Ed25519 under')],
  },
  'F-21': {
    fault: 'a signing key is revoked',
    tests: [...listTests('e2e/system/keys.test.ts', 'after `keys revoke` has returned')],
  },
  'F-22': {
    fault: 'the key-encryption key is wrong on one instance',
    tests: [
      ...listTests(
        'apps/auth/test/keys.test.ts',
        'does not start if it can decrypt no key, and generates none',
        'stops signing after its lease if it cannot decrypt a new ring',
      ),
    ],
  },
  'F-23': { fault: 'half-open connections', tests: [] },
  'F-24': { fault: 'new connections hang', tests: [] },
  'F-25': { fault: 'the API cannot reach the authorization server', tests: [] },
  'F-26': {
    fault: 'the authorization server sends invalid responses',
    tests: [
      ...listTests(
        'apps/resource/test/authorization-server-failures.test.ts',
        'a wrong introspection response causes a 503, never a 200 or a 401',
        'a redirect, which is not followed',
        'a response that would take six seconds, for which the API waits only about one',
      ),
    ],
  },
  'F-27': {
    fault: 'the key set cannot be fetched',
    tests: [
      ...listTests(
        'apps/resource/src/auth/authorization-server-keys.test.ts',
        'serves cached keys while the endpoint is down, until the trust period ends',
        'fetches again for an unknown kid, at most once a second',
      ),
    ],
  },
  'F-28': {
    fault: 'a request is delivered twice',
    tests: [
      ...listTests(
        'apps/resource/test/contact-storage.test.ts',
        'is refused with 409 while the first request with the key is in flight',
        'stores one message for many simultaneous requests',
      ),
    ],
  },
  'F-29': {
    fault: 'the mail server is down, is slow, or refuses mail',
    tests: [
      ...listTests(
        'packages/mail/src/open-mailer.integration.test.ts',
        'sends a temporarily refused mail at the second attempt',
        'drops a mail that its handler no longer wants',
        'starts and stops while its database is unreachable',
      ),
      ...listTests('e2e/system/mail-kills.test.ts', 'every promised mail arrives'),
    ],
  },
  'F-30': { fault: 'a migration is killed', tests: [] },
  'F-31': { fault: 'two instances migrate', tests: [] },
  'F-32': { fault: 'two releases on one schema', tests: [] },
  'F-33': { fault: 'the event loop is blocked, or memory or file descriptors run out', tests: [] },
  'F-34': {
    fault: 'nobody reads the log',
    tests: [
      ...listTests(
        'packages/http/src/observability/log.process.test.ts',
        'F-34 logs without waiting for the reader',
      ),
    ],
  },
  'F-35': {
    fault: 'names are not resolved',
    tests: [
      ...listTests(
        'packages/postgres/src/database.integration.test.ts',
        'F-35 a host name that does not resolve',
      ),
    ],
  },
  'F-36': { fault: 'a start while everything is down', tests: [] },
  'F-37': { fault: 'many requests with one token when its introspection is not cached', tests: [] },
  'F-38': { fault: 'clients retry after an outage', tests: [] },
  'F-39': { fault: 'the document of a client cannot be fetched', tests: [] },
} as const satisfies Record<`F-${string}`, { fault: string; tests: readonly FaultTest[] }>

export type FaultNumber = keyof typeof FAULT_NUMBERS
