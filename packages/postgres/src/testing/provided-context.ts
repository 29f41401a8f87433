/** The server on which a project's tests make their databases. */
export interface TestPostgres {
  /** A role that may create roles and databases. */
  adminUrl: string
  origin: 'embedded' | 'TEST_POSTGRES_URL'
  /** Such as `18.4`. */
  version: string
  /** Names the run in its databases and roles: 8 hexadecimal digits. */
  runId: string
  /** Of every role the run makes. */
  rolePassword: string
}

declare module 'vitest' {
  interface ProvidedContext {
    testPostgres: TestPostgres
    /** Undefined where tests have no Redis. */
    redisUrl: string | undefined
  }
}
