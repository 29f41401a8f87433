import { z } from 'zod'
import {
  type Access,
  type Authenticators,
  type Caller,
  Problem,
  type Route,
  type RouteLimits,
} from '../src/index.ts'

const CALLER: Caller = { clientId: 'agt_1', scopes: new Set(['guides:read']) }

/** Accepts the token in `Bearer good`, with the scope `guides:read`, and the client credentials in `Basic good`. */
export const authenticators: Authenticators = {
  async bearer(ctx, scopes) {
    if (ctx.get('authorization') === 'Bearer good') {
      if (scopes.every((scope) => CALLER.scopes.has(scope))) return CALLER
      throw new Problem('insufficient-scope')
    }
    throw new Problem(ctx.get('authorization') ? 'invalid-token' : 'token-required')
  },
  async client(ctx) {
    if (ctx.get('authorization') === 'Basic good') return { ...CALLER, credentialVersion: 1 }
    throw new Problem('invalid-client')
  },
}

/** Creates a route that responds with its caller's client id. */
export const createWhoRoute = (path: `/${string}`, access: Access, limits: RouteLimits = {}): Route => ({
  method: 'get',
  path,
  operationId: path.slice(1),
  summary: 'Who calls?',
  access,
  limits,
  responses: { 200: z.object({ caller: z.string().nullable() }) },
  handle: ({ caller }) => ({ status: 200, body: { caller: caller?.clientId ?? null } }),
})
