/*
 * The oidc-provider storage: adapters for the models of the authorization code flow of apps. The library stores nothing for
 * agents (`issue-agent-token.ts`).
 */
import { RULES } from '@plainpath/domain'
import { APP_GRANT_TYPES } from '@plainpath/metadata'
import { sha256 } from '@plainpath/sealing'
import { type Adapter, type AdapterFactory, type AllClientMetadata, errors } from 'oidc-provider'
import { z } from 'zod'
import type { UsageRecorder } from '../agents/usage-recorder.ts'
import type { AppClient } from '../app-clients/app-client.ts'
import { CONNECTION_CREDENTIAL_VERSION, type ConnectionStore } from '../connections/connection-store.ts'
import type { AuthEvents } from '../events.ts'
import type { TokenStore } from '../tokens/token-store.ts'
import { REFRESH_TOKEN_PREFIX } from './access-token.ts'
import { getCurrentAppRequest, requireCurrentAppRequest } from './app-request.ts'
import type { OAuthRecordStore, RecordModel } from './oauth-record-store.ts'

interface AppAdapterDeps {
  readonly records: OAuthRecordStore
  readonly connections: Pick<ConnectionStore, 'revoke'>
  readonly tokens: Pick<TokenStore, 'save'>
  readonly usage: Pick<UsageRecorder, 'recordUse'>
  readonly events: AuthEvents
  readonly now: () => Date
}

/**
 * Returns whether presenting a used refresh token counts as reuse. Within a grace period it does not, since apps may send
 * simultaneous refresh requests.
 */
const isReuse = (consumedAt: Date, now: Date): boolean =>
  now.getTime() - consumedAt.getTime() > RULES.refreshGraceMs

/** Creates the function that returns the adapter for a model of the library. */
export function createAppAdapters(deps: AppAdapterDeps): AdapterFactory {
  const { records, connections, tokens, usage, events, now } = deps
  const createRefusingAdapter = (model: string) =>
    createReadOnlyAdapter(`this server never does that with a ${model}`)

  const createRecordAdapter = (model: RecordModel): Adapter => ({
    ...createRefusingAdapter(model),
    upsert: (id, payload, lifetimeSeconds) =>
      records.save(model, id, payload, z.int().min(1).parse(lifetimeSeconds)),
    find: async (id) => (await records.find(model, id))?.payload,
  })
  const refreshTokenAdapter = createRecordAdapter('RefreshToken')

  /** Revokes a connection whose code or refresh token was used twice: one of the two clients that used it is an attacker. */
  async function revokeReusedConnection(agentId: string | undefined): Promise<void> {
    if (agentId !== undefined) await connections.revoke(agentId, 'reused', now())
  }

  /** Returns the property by which the library recognises a used code or token. Its value is in seconds since 1970. */
  const toConsumedMember = (consumedAt: Date) => ({ consumed: Math.floor(consumedAt.getTime() / 1000) })
  /**
   * Methods that do nothing, since revoking the verification of the connection suffices. The rows remain, so another use is
   * detected even if that revocation failed.
   */
  const ignoreRevocation = { destroy: async () => undefined, revokeByGrantId: async () => undefined }

  const adapters: Readonly<Record<string, Adapter>> = {
    Client: createClientAdapter(),
    Interaction: {
      ...createRecordAdapter('Interaction'),
      /** The library calls this when the browser returns. Only one of two simultaneous requests continues. */
      async destroy(id) {
        if (!(await records.remove('Interaction', id)))
          throw new errors.SessionNotFound('this sign-in was already completed')
      },
    },
    // Every sign-in asks the person again, so sessions are not stored.
    Session: {
      ...createRefusingAdapter('Session'),
      upsert: async () => undefined,
      destroy: async () => undefined,
    },
    Grant: {
      ...createRecordAdapter('Grant'),
      /**
       * The library calls this for each code and refresh token. The access token then gets the epoch of the grant. A revocation
       * of all tokens therefore also covers an access token from this grant that is stored after the revocation.
       */
      async find(id) {
        const record = await records.find('Grant', id)
        const request = getCurrentAppRequest()
        if (record && request) request.epoch = record.epoch
        return record?.payload
      },
    },
    AuthorizationCode: {
      ...createRecordAdapter('AuthorizationCode'),
      ...ignoreRevocation,
      async find(id) {
        const record = await records.find('AuthorizationCode', id)
        return record && { ...record.payload, ...(record.consumedAt && toConsumedMember(record.consumedAt)) }
      },
      /**
       * Marks the code as used. The library found it unused, but a simultaneous request may have used it since. That counts as
       * reuse, and revokes the connection.
       */
      async consume(id) {
        if (await records.consume('AuthorizationCode', id)) {
          requireCurrentAppRequest().consumedCode = id
          return
        }
        await revokeReusedConnection((await records.find('AuthorizationCode', id))?.payload.accountId)
        throw new errors.InvalidGrant('authorization code already consumed')
      },
    },
    RefreshToken: {
      ...refreshTokenAdapter,
      ...ignoreRevocation,
      upsert(id, payload, lifetimeSeconds) {
        requireCurrentAppRequest().newRefreshToken = id
        return refreshTokenAdapter.upsert(id, payload, lifetimeSeconds)
      },
      async find(id) {
        // The library also looks up other tokens here, such as an access token that it did not find elsewhere.
        if (!id.startsWith(REFRESH_TOKEN_PREFIX)) return undefined
        const record = await records.find('RefreshToken', id)
        const reusedAt =
          record?.consumedAt && isReuse(record.consumedAt, now()) ? record.consumedAt : undefined
        return record && { ...record.payload, ...(reusedAt && toConsumedMember(reusedAt)) }
      },
      /**
       * Only records that the token was presented. The library calls this before it stores the new tokens. If storing them failed
       * after the token was marked as used, a retry after the grace period would count as reuse. `serveAppToken` marks it later.
       */
      async consume(id) {
        if (!(await records.mayRefresh(id))) throw new errors.InvalidGrant('too many refresh tokens')
        requireCurrentAppRequest().presentedRefreshToken = id
      },
    },
    AccessToken: {
      ...createRefusingAdapter('AccessToken'),
      /** Saves the token in the token store, under the connection that `findAccount` found for the request. */
      async upsert(token, payload) {
        const { connection, epoch } = getCurrentAppRequest() ?? {}
        if (!connection || epoch === undefined)
          throw new Error('cannot store an access token: the app request has no connection')
        if (!(await usage.recordUse(connection.agentId)))
          throw new errors.InvalidGrant('the connection has ended')
        const scope = payload.scope ?? ''
        await tokens.save(sha256(token), {
          clientId: connection.agentId,
          credentialVersion: CONNECTION_CREDENTIAL_VERSION,
          epoch,
          scope,
          audience: z.string().parse(payload.aud),
          issuedAt: new Date(Number(payload.iat) * 1000),
          expiresAt: new Date(Number(payload.exp) * 1000),
          verificationId: connection.verificationId,
          ...(payload.jkt !== undefined && { jkt: payload.jkt }),
        })
        events.emit('token-issued', { scopes: scope.split(' ').filter(Boolean) })
      },
      /** The library calls this for a code or refresh token that was used twice. */
      async revokeByGrantId(grantId) {
        await revokeReusedConnection((await records.find('Grant', grantId))?.payload.accountId)
      },
    },
  }
  return (model) => adapters[model] ?? createReadOnlyAdapter(`this server never stores a ${model}`)
}

/** Adapts the app of the current request to the library's Client model, with minimal metadata. */
const createClientAdapter = (): Adapter => ({
  ...createReadOnlyAdapter('clients are written by registration only'),
  async find(id) {
    const app = getCurrentAppRequest()?.client
    return app?.id === id ? toMetadata(app) : undefined
  },
})

/** The library requires a secret in the metadata. It is never compared: see `acceptInternalClientSecret`. */
const UNUSED_CLIENT_SECRET = 'authenticated-before-oidc-provider'

const toMetadata = (app: AppClient): AllClientMetadata => ({
  client_id: app.id,
  client_secret: UNUSED_CLIENT_SECRET,
  grant_types: [...APP_GRANT_TYPES],
  application_type: app.applicationType,
  redirect_uris: [...app.redirectUris],
  response_types: ['code'],
})

/**
 * Creates an adapter that finds nothing and refuses writes. Other adapters replace the methods that their models need.
 *
 * @param reason the message of the error that each write throws
 */
export function createReadOnlyAdapter(reason: string): Adapter {
  const refuse = async (): Promise<never> => {
    throw new Error(reason)
  }
  const findNothing = async () => undefined
  return {
    upsert: refuse,
    find: findNothing,
    findByUserCode: findNothing,
    findByUid: findNothing,
    consume: refuse,
    destroy: refuse,
    revokeByGrantId: refuse,
  }
}
