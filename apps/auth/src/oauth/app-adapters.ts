/*
 * The storage of oidc-provider for apps: adapters of the models of the authorization code flow. Those for agents, and
 * access tokens as introspection finds them, are in `provider-adapters.ts`.
 */
import { RULES } from '@plainpath/domain'
import { sha256 } from '@plainpath/sealing'
import { type Adapter, errors } from 'oidc-provider'
import { z } from 'zod'
import type { UseMarks } from '../agents/mark-use.ts'
import { CONNECTION_GENERATION, type Connections } from '../connections/connection-store.ts'
import type { AuthEvents } from '../events.ts'
import type { TokenStore } from '../tokens/token-store.ts'
import { currentAppRequest } from './app-request.ts'
import type { OAuthRecordStore, RecordModel } from './oauth-record-store.ts'
import { readOnlyAdapter } from './provider-adapters.ts'

/** Begins the value of every refresh token. */
export const REFRESH_TOKEN_PREFIX = 'ppr_'

interface AppAdapterDeps {
  readonly records: OAuthRecordStore
  readonly connections: Pick<Connections, 'end'>
  readonly tokens: Pick<TokenStore, 'save'>
  readonly marks: Pick<UseMarks, 'mark'>
  readonly events: AuthEvents
  readonly now: () => Date
}

/** True for a refresh token that was used longer ago than the grace, which its app has for simultaneous refreshes. */
const isReuse = (consumedAt: Date, now: Date): boolean =>
  now.getTime() - consumedAt.getTime() > RULES.refreshGraceMs

/** Creates the adapters, by model. */
export function appAdapters(deps: AppAdapterDeps): Readonly<Record<string, Adapter>> {
  const { records, connections, tokens, marks, events, now } = deps
  const refuse = (model: string) => readOnlyAdapter(`this server never does that with a ${model}`)

  const recordAdapter = (model: RecordModel): Adapter => ({
    ...refuse(model),
    upsert: (id, payload, lifetimeSeconds) =>
      records.save(model, id, payload, z.int().min(1).parse(lifetimeSeconds)),
    find: async (id) => (await records.find(model, id))?.payload,
  })

  /** Ends the connection of a grant whose code or refresh token was used twice: one of the two users is an attacker. */
  async function endReused(agentId: string | undefined): Promise<void> {
    if (agentId !== undefined) await connections.end(agentId, 'reused', now())
  }

  const consumed = (at: Date) => ({ consumed: Math.floor(at.getTime() / 1000) })
  /** Ending the claim of the connection is enough. The rows stay, so that a use after a failure to end it is noticed too. */
  const revokedWithClaim = { destroy: async () => undefined, revokeByGrantId: async () => undefined }

  return {
    Interaction: {
      ...recordAdapter('Interaction'),
      /** The library calls it when the browser comes back. Of two simultaneous requests one goes on. */
      async destroy(id) {
        if (!(await records.remove('Interaction', id)))
          throw new errors.SessionNotFound('this sign-in was already completed')
      },
    },
    // Every sign-in asks the person again, so no session has to outlast its request.
    Session: { ...refuse('Session'), upsert: async () => undefined, destroy: async () => undefined },
    Grant: {
      ...recordAdapter('Grant'),
      /**
       * The library calls it for each code and refresh token. So an emergency revocation that covers the grant ends all that
       * descends from it, also an access token that is stored after the revocation.
       */
      async find(id) {
        const found = await records.find('Grant', id)
        const request = currentAppRequest()
        if (found && request) request.epoch = found.epoch
        return found?.payload
      },
    },
    AuthorizationCode: {
      ...recordAdapter('AuthorizationCode'),
      ...revokedWithClaim,
      async find(id) {
        const found = await records.find('AuthorizationCode', id)
        return found && { ...found.payload, ...(found.consumedAt && consumed(found.consumedAt)) }
      },
      /** The library has found it unused, as another request may have at the same time. */
      async consume(id) {
        if (await records.consume('AuthorizationCode', id)) return
        await endReused((await records.find('AuthorizationCode', id))?.payload.accountId)
        throw new errors.InvalidGrant('authorization code already consumed')
      },
    },
    RefreshToken: {
      ...recordAdapter('RefreshToken'),
      ...revokedWithClaim,
      async find(id) {
        // The library also asks for every access token that is introspected.
        if (!id.startsWith(REFRESH_TOKEN_PREFIX)) return undefined
        const found = await records.find('RefreshToken', id)
        const reused = found?.consumedAt && isReuse(found.consumedAt, now()) ? found.consumedAt : undefined
        return found && { ...found.payload, ...(reused && consumed(reused)) }
      },
      async consume(id) {
        await records.consume('RefreshToken', id)
      },
    },
    AccessToken: {
      ...refuse('AccessToken'),
      async upsert(token, payload) {
        const { connection, epoch } = currentAppRequest() ?? {}
        if (!connection || epoch === undefined) throw new Error('an access token is stored for no connection')
        if (!(await marks.mark(connection.agentId))) throw new errors.InvalidGrant('the connection has ended')
        const scope = payload.scope ?? ''
        await tokens.save(sha256(token), {
          clientId: connection.agentId,
          generation: CONNECTION_GENERATION,
          epoch,
          scope,
          audience: z.string().parse(payload.aud),
          issuedAt: new Date(Number(payload.iat) * 1000),
          expiresAt: new Date(Number(payload.exp) * 1000),
          claimId: connection.claimId,
          ...(payload.jkt !== undefined && { jkt: payload.jkt }),
        })
        events.emit('token-issued', { scopes: scope.split(' ').filter(Boolean) })
      },
      /** The library calls it for a code or refresh token that was used twice. */
      async revokeByGrantId(grantId) {
        await endReused((await records.find('Grant', grantId))?.payload.accountId)
      },
    },
  }
}
