/**
 * Options of `serve` for a test's server. Idle connections stay open for a minute. Otherwise, a busy machine could
 * close one just when a client sends its next request.
 */
export const ANY_PORT = {
  port: 0,
  host: '127.0.0.1',
  drainSeconds: 1,
  limits: { keepAliveTimeout: 60_000 },
} as const
