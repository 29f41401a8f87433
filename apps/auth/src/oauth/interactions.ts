import type { AgentId } from '@plainpath/domain'
import { Problem } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import type { Context } from 'koa'
import { errors, type InteractionResults, type default as Provider } from 'oidc-provider'
import type { AgentRepository } from '../agents/agent-repository.ts'
import { type AppClient, type FindAppClient, isRedirectUriOf } from '../app-clients/app-client.ts'
import type { AppClientStore } from '../app-clients/app-client-store.ts'
import type { Connections } from '../connections/connection-store.ts'
import { APP_SCOPE, type ProviderSlot, SIGN_IN_PATH } from './create-provider.ts'

/** A sign-in that this browser began at `/oauth/authorize` and has not finished. */
export interface SignInInteraction {
  /** 21 URL-safe characters, the last segment of the page's path. On its own it is no secret: a signed cookie goes with it. */
  readonly uid: string
  readonly client: AppClient
  /** As the app sent it: one of the client's, with any port for a loopback address. */
  readonly redirectUri: string
  readonly expiresAt: Date
}

/** What the sign-in pages at `/oauth/sign-in/{uid}` need of the OAuth flow. */
export interface Interactions {
  /**
   * Finds the interaction of the request: the path names it, and a signed cookie for exactly this path proves that the
   * same browser began it.
   *
   * @returns undefined for an unknown, finished or expired one, for another browser, and when the app or its redirect URI
   *   is not acceptable any more
   */
  find(ctx: Context): Promise<SignInInteraction | undefined>
  /**
   * Grants the connection to the app, and redirects the browser (303) to where the flow goes on. The chain of redirects
   * ends at `redirectUri`, so the page whose form leads here must allow that origin or scheme in `form-action`.
   *
   * @param connection one with a live claim, which `Connections.begin` created for the app of this interaction
   * @throws {Problem} `not-found` when `find` finds nothing, or the connection is not this app's or has no live claim
   */
  allow(ctx: Context, connection: { readonly agentId: AgentId }): Promise<void>
  /**
   * Grants nothing, and redirects the browser (303): the app gets `access_denied`. The same `form-action` applies.
   *
   * @throws {Problem} `not-found` when `find` finds nothing
   */
  deny(ctx: Context): Promise<void>
}

/** What a browser is told whose sign-in is not there any more. */
export const SIGN_IN_GONE =
  'This sign-in has ended, has expired, or was begun in another browser. Go back to the app, and connect again.'

/** Creates the interactions of the server. */
export function interactions(deps: {
  readonly provider: ProviderSlot
  readonly findAppClient: FindAppClient
  readonly connections: Pick<Connections, 'find'>
  readonly agents: Pick<AgentRepository, 'markUsed'>
  readonly appClients: Pick<AppClientStore, 'markUsed'>
  readonly urls: Pick<ServiceUrls, 'signedInMcp'>
  readonly now: () => Date
}): Interactions {
  const { findAppClient, connections, agents, appClients, urls, now } = deps

  async function find(ctx: Context): Promise<SignInInteraction | undefined> {
    const interaction = await findOfBrowser(deps.provider.provider, ctx)
    if (!interaction || ctx.path !== `${SIGN_IN_PATH}/${interaction.uid}`) return undefined
    const { uid, params, exp } = interaction
    const redirectUri = String(params['redirect_uri'])
    const client = await findAppClient(ctx, String(params['client_id']))
    if (!client || !isRedirectUriOf(client, redirectUri)) return undefined
    return { uid, client, redirectUri, expiresAt: new Date(exp * 1000) }
  }

  async function finish(ctx: Context, result: InteractionResults): Promise<void> {
    const returnTo = await deps.provider.provider.interactionResult(ctx.req, ctx.res, result)
    ctx.set('referrer-policy', 'no-referrer')
    ctx.status = 303
    ctx.redirect(returnTo)
  }

  return {
    find,
    async allow(ctx, { agentId }) {
      const interaction = await find(ctx)
      const connection = interaction && (await connections.find(agentId, now()))
      if (!interaction || connection?.appClientId !== interaction.client.id) throw signInGone()
      // From now on it is no sign-in that was left unfinished, even if the app never fetches its tokens.
      if (!(await agents.markUsed(agentId, now()))) throw signInGone()
      await appClients.markUsed(interaction.client.id, now())
      const { Grant } = deps.provider.provider
      const grant = new Grant({ accountId: agentId, clientId: interaction.client.id })
      // The library asks for both: the scope is also one of those that the server itself knows.
      grant.addOIDCScope(APP_SCOPE)
      grant.addResourceScope(urls.signedInMcp, APP_SCOPE)
      await finish(ctx, {
        login: { accountId: agentId, remember: false },
        consent: { grantId: await grant.save() },
      })
    },
    async deny(ctx) {
      if (!(await find(ctx))) throw signInGone()
      await finish(ctx, {
        error: 'access_denied',
        error_description: 'the person did not allow the connection',
      })
    },
  }
}

const signInGone = () => new Problem('not-found', { detail: SIGN_IN_GONE })

/** Finds the interaction that the signed cookie of the request names. */
async function findOfBrowser(provider: Provider, ctx: Context) {
  try {
    return await provider.interactionDetails(ctx.req, ctx.res)
  } catch (error) {
    if (error instanceof errors.SessionNotFound) return undefined
    throw error
  }
}
