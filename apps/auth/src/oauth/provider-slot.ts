import type { Middleware } from 'koa'
import compose from 'koa-compose'
import type Provider from 'oidc-provider'
import type { InstanceKeys } from '../keys/signing-key.ts'

/** Holds the Provider in use, and lets one with a new key ring replace it between two requests. */
export interface ProviderSlot {
  readonly middleware: Middleware
  readonly ring: InstanceKeys
  swap(ring: InstanceKeys): void
}

/**
 * oidc-provider reads its keys once, in its constructor, so new keys need a new Provider.
 *
 * The library turns whatever is thrown inside it into a body of its own; the thrown value is handed on in
 * `ctx.state.thrown`, so that one place answers all failures.
 */
export function providerSlot(build: (ring: InstanceKeys) => Provider, first: InstanceKeys): ProviderSlot {
  let current = assemble(build(first))
  let ring = first
  return {
    middleware: (ctx, next) => current(ctx, next),
    get ring() {
      return ring
    },
    swap(next) {
      current = assemble(build(next))
      ring = next
    },
  }
}

function assemble(provider: Provider) {
  provider.on('server_error', (ctx, error) => {
    ctx.state['thrown'] = error
  })
  return compose(provider.middleware)
}
