/**
 * Options of `serve` for a test's server. `keepAliveTimeout` is a minute instead of 5 s: on a busy machine, the server could
 * otherwise close an idle connection just as a client reuses it.
 */
export const TEST_SERVER_OPTIONS = {
  port: 0,
  host: '127.0.0.1',
  drainSeconds: 1,
  limits: { keepAliveTimeout: 60_000 },
} as const
