import { isUnavailable } from '@plainpath/postgres'
import { isRedisUnavailable } from './tokens/open-redis.ts'

/** An answer that is no success, in one sentence for the person at the terminal. Exit code 1. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
}

const LISTENING: Readonly<Record<string, string>> = {
  EADDRINUSE: 'The port is taken',
  EACCES: 'The port may not be used by this user',
  EADDRNOTAVAIL: 'The address is not one of this machine',
}

/** What to tell the person at the terminal; undefined for a fault of ours. Never a value of a setting. */
export function commandFailure(thrown: unknown): string | undefined {
  if (thrown instanceof Refusal) return thrown.message
  const { code, port, syscall } = (thrown ?? {}) as { code?: string; port?: number; syscall?: string }
  const listening = syscall === 'listen' && LISTENING[code ?? '']
  if (listening) return `${listening}: ${port}.`
  if (isUnavailable(thrown) || isRedisUnavailable(thrown))
    return `PostgreSQL or Redis does not answer${code ? ` (${code})` : ''}.`
  return undefined
}
