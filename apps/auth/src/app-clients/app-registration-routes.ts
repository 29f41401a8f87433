import { Problem, type RawRoute, readJson } from '@plainpath/http'
import type { Context } from 'koa'
import type { AuthEvents } from '../events.ts'
import { LIMITS } from '../limits.ts'
import type { AppClientStore } from './app-client-store.ts'
import { APP_GRANT_TYPES, APP_RESPONSE_TYPES, parseRegistration } from './app-metadata.ts'
import { type ChatHosts, findClientLabel } from './chat-hosts.ts'

export interface AppRegistrationDeps {
  readonly appClients: Pick<AppClientStore, 'add'>
  readonly chatHosts: ChatHosts
  readonly events: AuthEvents
  readonly now: () => Date
}

const REGISTRATION_PATH = '/oauth/register'

/**
 * Creates the route on which an app registers (RFC 7591). Each registration creates a public client, which needs no
 * secret. Of the metadata that the app sends, only the redirect URIs and the name are stored. `sweepAppClients` deletes
 * unused apps.
 */
export const createAppRegistrationRoutes = (deps: AppRegistrationDeps): RawRoute[] => [
  {
    methods: ['POST'],
    path: REGISTRATION_PATH,
    limits: LIMITS.registerApp,
    serve: (ctx) => registerApp(ctx, deps),
  },
]

async function registerApp(ctx: Context, { appClients, chatHosts, events, now }: AppRegistrationDeps) {
  const parsed = parseRegistration(await readJson(ctx), chatHosts)
  if (!parsed.ok) {
    const { code, pointer, detail } = parsed.error
    events.emit('app-registration', { host: 'refused' })
    throw new Problem(code, { detail: `${pointer} ${detail}.`, errors: [{ pointer, detail }] })
  }
  const { redirectUris, name, applicationType } = parsed.value
  const registeredAt = now()
  const id = await appClients.add(parsed.value, registeredAt)
  events.emit('app-registration', { host: findClientLabel(redirectUris, chatHosts) })
  ctx.status = 201
  ctx.set('cache-control', 'no-store')
  ctx.body = {
    client_id: id,
    client_id_issued_at: Math.floor(registeredAt.getTime() / 1000),
    ...(name !== undefined && { client_name: name }),
    redirect_uris: redirectUris,
    application_type: applicationType,
    grant_types: APP_GRANT_TYPES,
    response_types: APP_RESPONSE_TYPES,
    token_endpoint_auth_method: 'none',
  }
}
