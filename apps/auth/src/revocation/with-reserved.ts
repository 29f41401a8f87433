import type { ReservedPool } from '@plainpath/postgres'
import type { Context, Middleware } from 'koa'

/**
 * Requests that end tokens, clients, secrets or claims may use the database connections that are kept back: whoever fills
 * the pool cannot stop them.
 */
export const withReserved =
  (db: Pick<ReservedPool, 'reserved'>): Middleware =>
  (ctx, next) =>
    endsSomething(ctx) ? db.reserved(next) : next()

const ENDING_POSTS = new Set(['/oauth/revoke', '/claim'])

const endsSomething = ({ method, path }: Context) =>
  method === 'DELETE' || (method === 'POST' && ENDING_POSTS.has(path))
