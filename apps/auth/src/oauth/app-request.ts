import Provider from 'oidc-provider'
import type { AppClient } from '../app-clients/app-client.ts'
import type { Connection } from '../connections/connection-store.ts'

/** What is known of a request of an app, while oidc-provider handles it. */
export interface AppRequest {
  readonly client: AppClient
  /** The connection that the request is about, once it is found. */
  connection?: Connection
  /** The emergency revocation epoch of the grant of the request. Its access token gets the same. */
  epoch?: number
}

type WithState = { readonly state: { [APP_REQUEST]?: AppRequest } }
const APP_REQUEST = Symbol('appRequest')

/** Notes that a request is one of an app, before it is passed to the library. */
export function beginAppRequest(ctx: object, client: AppClient): AppRequest {
  const request = { client }
  ;(ctx as WithState).state[APP_REQUEST] = request
  return request
}

/** @returns undefined for the request of an agent or a resource server */
export const appRequestOf = (ctx: object): AppRequest | undefined => (ctx as WithState).state[APP_REQUEST]

/**
 * Returns the request that the library is handling: adapters get none.
 *
 * Replaces nothing: it reads `Provider.ctx`, as `authenticatedGeneration` does.
 */
export const currentAppRequest = (): AppRequest | undefined => Provider.ctx && appRequestOf(Provider.ctx)
