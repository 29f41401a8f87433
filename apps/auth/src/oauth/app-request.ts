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
  /** The authorization code that this request used up, if any. */
  consumedCode?: string
  /** The valid refresh token that this request presented, if any. It is marked as used once the new tokens are stored. */
  presentedRefreshToken?: string
  /** The new refresh token, if any. It may be stored even if the request fails. */
  newRefreshToken?: string
}

type WithState = { readonly state: { [APP_REQUEST]?: AppRequest } }
const APP_REQUEST = Symbol('appRequest')

/** Records that a request comes from an app, before the request is passed to oidc-provider. */
export function recordAppRequest(ctx: object, client: AppClient): void {
  ;(ctx as WithState).state[APP_REQUEST] = { client }
}

/** Returns the state of an app request; undefined if the request was not recorded as one. */
export const findAppRequest = (ctx: object): AppRequest | undefined => (ctx as WithState).state[APP_REQUEST]

/**
 * Returns the state of the app request that oidc-provider is handling; undefined outside a request, or if the request was not
 * recorded as one of an app. Adapters need this, because oidc-provider does not pass them the request. `Provider.ctx` counts as
 * public API, because `@types/oidc-provider` declares it (see `override-provider.ts`).
 */
export const getCurrentAppRequest = (): AppRequest | undefined => Provider.ctx && findAppRequest(Provider.ctx)

/** Like `getCurrentAppRequest`, but throws an error instead of returning undefined. */
export function requireCurrentAppRequest(): AppRequest {
  const request = getCurrentAppRequest()
  if (!request) throw new Error('oidc-provider is not handling an app request')
  return request
}
