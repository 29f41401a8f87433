import Provider from 'oidc-provider'
import type { AppClient } from '../app-clients/app-client.ts'
import type { Connection } from '../connections/connection-store.ts'

/** The state of an app request while oidc-provider handles it. */
export interface AppRequest {
  readonly client: AppClient
  /** The connection of the request, once it is found. */
  connection?: Connection
  /** The revocation epoch of the request's grant, once it is found. The access token gets the same epoch. */
  epoch?: number
}

type WithState = { readonly state: { [APP_REQUEST]?: AppRequest } }
const APP_REQUEST = Symbol('appRequest')

/** Records that a request comes from an app, before the request is passed to the library. */
export function recordAppRequest(ctx: object, client: AppClient): AppRequest {
  const request = { client }
  ;(ctx as WithState).state[APP_REQUEST] = request
  return request
}

/** Returns the state of an app request; undefined if the request was not recorded as one. */
export const findAppRequest = (ctx: object): AppRequest | undefined => (ctx as WithState).state[APP_REQUEST]

/**
 * Returns the request that the library is handling. Adapters need this, because the library does not pass them the request.
 * `Provider.ctx` is public API: the types of the library declare it.
 */
export const getCurrentAppRequest = (): AppRequest | undefined => Provider.ctx && findAppRequest(Provider.ctx)
