import type { AgentId } from '@plainpath/domain'
import { Problem } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import type { Context } from 'koa'
import { errors, type InteractionResults, type default as Provider } from 'oidc-provider'
import type { AgentStore } from '../agents/agent-store.ts'
import { type AppClient, acceptsRedirectUri, type FindAppClient } from '../app-clients/app-client.ts'
import type { AppClientStore } from '../app-clients/app-client-store.ts'
import type { ConnectionStore } from '../connections/connection-store.ts'
import { APP_SCOPE, SIGN_IN_PATH } from './create-provider.ts'

/** A sign-in that this browser began at `/oauth/authorize` and has not finished. */
export interface SignInInteraction {
  /** 21 URL-safe characters, the last segment of the page path. It is not secret: a request also needs a signed cookie. */
  readonly uid: string
  readonly client: AppClient
  /** The redirect URI that the app sent: one of its URIs, with any port for a loopback address. */
  readonly redirectUri: string
  readonly expiresAt: Date
}

/** The part of the OAuth flow that the sign-in pages at `/oauth/sign-in/{uid}` use. */
export interface Interactions {
  /**
   * Finds the interaction of the request. The path names it, and a signed cookie for exactly this path proves that the same
   * browser began it.
   *
   * @returns undefined for an unknown, finished or expired interaction, for another browser, or if the app or its redirect URI
   *   is no longer acceptable
   */
  find(ctx: Context): Promise<SignInInteraction | undefined>
  /**
   * Grants the connection to the app, and redirects the browser (303) to the continuation of the flow. The chain of redirects
   * ends at `redirectUri`, so the page with the form must allow that origin or scheme in `form-action`.
   *
   * @param connection a connection with a live verification, created for the app of this interaction
   * @throws {Problem} `not-found` when `find` finds nothing, or the connection is for another app or has no live verification
   */
  allow(ctx: Context, connection: { readonly agentId: AgentId }): Promise<void>
  /**
   * Denies the connection, and redirects the browser (303): the app gets `access_denied`. The same `form-action` applies.
   *
   * @throws {Problem} `not-found` when `find` finds nothing
   */
  deny(ctx: Context): Promise<void>
}

/** The text for a browser whose sign-in no longer exists. */
export const SIGN_IN_GONE_DETAIL =
  'This sign-in has ended, has expired, or was begun in another browser. Go back to the app, and connect again.'

/** Implements `Interactions` with oidc-provider. */
export function createInteractions(deps: {
  readonly provider: Provider
  readonly findAppClient: FindAppClient
  readonly connections: Pick<ConnectionStore, 'find'>
  readonly agents: Pick<AgentStore, 'markUsed'>
  readonly appClients: Pick<AppClientStore, 'markUsed'>
  readonly urls: Pick<ServiceUrls, 'signedInMcp'>
  readonly now: () => Date
}): Interactions {
  const { findAppClient, connections, agents, appClients, urls, now } = deps

  async function find(ctx: Context): Promise<SignInInteraction | undefined> {
    const interaction = await findBrowserInteraction(deps.provider, ctx)
    if (!interaction || ctx.path !== `${SIGN_IN_PATH}/${interaction.uid}`) return undefined
    const { uid, params, exp } = interaction
    const redirectUri = String(params['redirect_uri'])
    const client = await findAppClient(ctx, String(params['client_id']))
    if (!client || !acceptsRedirectUri(client, redirectUri)) return undefined
    return { uid, client, redirectUri, expiresAt: new Date(exp * 1000) }
  }

  async function finish(ctx: Context, result: InteractionResults): Promise<void> {
    const returnTo = await deps.provider.interactionResult(ctx.req, ctx.res, result)
    ctx.set('referrer-policy', 'no-referrer')
    // Set before `redirect`, which otherwise chooses 302.
    ctx.status = 303
    ctx.redirect(returnTo)
  }

  return {
    find,
    async allow(ctx, { agentId }) {
      const interaction = await find(ctx)
      const connection = interaction && (await connections.find(agentId, now()))
      if (!interaction || connection?.appClientId !== interaction.client.id) throw createSignInGoneProblem()
      // A connection is stored as an agent. It counts as used, so it does not expire as an unfinished sign-in if the app never
      // fetches its tokens.
      if (!(await agents.markUsed(agentId, now()))) throw createSignInGoneProblem()
      await appClients.markUsed(interaction.client.id, now())
      const { Grant } = deps.provider
      const grant = new Grant({ accountId: agentId, clientId: interaction.client.id })
      // oidc-provider also treats the scope as an OpenID scope, because the setting `scopes` lists it. The grant therefore needs
      // it in both forms.
      grant.addOIDCScope(APP_SCOPE)
      grant.addResourceScope(urls.signedInMcp, APP_SCOPE)
      await finish(ctx, {
        login: { accountId: agentId, remember: false },
        consent: { grantId: await grant.save() },
      })
    },
    async deny(ctx) {
      if (!(await find(ctx))) throw createSignInGoneProblem()
      await finish(ctx, {
        error: 'access_denied',
        error_description: 'the person did not allow the connection',
      })
    },
  }
}

const createSignInGoneProblem = () => new Problem('not-found', { detail: SIGN_IN_GONE_DETAIL })

/** Finds the interaction that the signed cookie of the request names. */
async function findBrowserInteraction(provider: Provider, ctx: Context) {
  try {
    return await provider.interactionDetails(ctx.req, ctx.res)
  } catch (error) {
    if (error instanceof errors.SessionNotFound) return undefined
    throw error
  }
}
