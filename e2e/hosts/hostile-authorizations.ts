import { randomUUID } from 'node:crypto'
import type { App, Authorization, Fields } from './app.ts'
import { publishDocument } from './publish-document.ts'
import {
  CLAUDE_URI,
  type HostileRow,
  LOOPBACK_URI,
  type Outcome,
  type Scene,
  toPageOutcome,
} from './scene.ts'

/** Creates a step that sends an authorization request, with changes if it is hostile. */
const sendChanged =
  (changes: Fields, choose: (scene: Scene) => { app: App; redirectUri: string } = chooseSiteApp) =>
  async (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const { app, redirectUri } = choose(scene)
    return authorize(scene, app, app.authorize({ redirectUri, changes: isHostile ? changes : {} }))
  }

/** Opens an authorization request as a new person. If its page is shown, signs in and redeems the code. */
async function authorize(scene: Scene, app: App, authorization: Authorization): Promise<Outcome> {
  const person = scene.newPerson()
  await scene.startCountingGrants()
  const page = await person.browser.open(authorization.url)
  if (page.externalTarget || page.status !== 200) return toPageOutcome(page)
  const decision = await person.giveAddress(page)
  return scene.redeem(app, authorization, await person.allow(decision.page, decision.code))
}

const chooseSiteApp = ({ app }: Scene) => ({ app, redirectUri: CLAUDE_URI })
const chooseNativeApp = ({ nativeApp }: Scene) => ({ app: nativeApp, redirectUri: LOOPBACK_URI })

/** Creates a step that sends an authorization request, with a second value of a parameter if it is hostile. */
const sendTwice =
  (name: string, value: string) =>
  (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI })
    if (isHostile) authorization.url.searchParams.append(name, value)
    return authorize(scene, scene.app, authorization)
  }

/** Creates a step that publishes a client document and sends an authorization request with its URL. */
const authorizeWithDocument =
  (describeHostile: (url: string) => object | undefined) =>
  async (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const { url } = publishDocument(scene.documents, isHostile ? describeHostile : (id) => documentFor(id))
    const changes = { client_id: url }
    const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI, changes })
    const person = scene.newPerson()
    await scene.startCountingGrants()
    const page = await person.browser.open(authorization.url)
    if (page.externalTarget || page.status !== 200) return toPageOutcome(page)
    const decision = await person.giveAddress(page)
    const callback = await person.allow(decision.page, decision.code)
    const tokens = await scene.app.exchange(authorization, callback, changes)
    return tokens.access_token === undefined ? { at: 'token', status: tokens.status } : { at: 'granted' }
  }

/** Creates a valid client document, with changes. */
export const documentFor = (client_id: string, changes: object = {}) => ({
  client_id,
  client_name: 'An app with a document',
  redirect_uris: [CLAUDE_URI],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
  ...changes,
})

const REFUSED_PAGE = { at: 'page', status: 400 } as const
const createCallbackError = (error: string) => ({ at: 'callback', error }) as const

export const HOSTILE_AUTHORIZATIONS: readonly HostileRow[] = [
  {
    what: 'without PKCE',
    refused: createCallbackError('invalid_request'),
    run: sendChanged({ code_challenge: undefined, code_challenge_method: undefined }),
  },
  {
    what: 'with a PKCE method but no challenge',
    refused: createCallbackError('invalid_request'),
    run: sendChanged({ code_challenge: undefined }),
  },
  {
    what: 'with the PKCE method plain',
    refused: createCallbackError('invalid_request'),
    run: sendChanged({ code_challenge_method: 'plain' }),
  },
  {
    what: 'with a challenge without a method, which is plain by default (RFC 7636)',
    refused: createCallbackError('invalid_request'),
    run: sendChanged({ code_challenge_method: undefined }),
  },
  {
    what: 'with a challenge that is not a SHA-256 hash',
    refused: createCallbackError('invalid_request'),
    run: sendChanged({ code_challenge: 'short' }),
  },
  {
    what: 'for a token without a code',
    refused: createCallbackError('unsupported_response_type'),
    run: sendChanged({ response_type: 'token' }),
  },
  {
    what: 'for a code and an ID token',
    refused: createCallbackError('unsupported_response_type'),
    run: sendChanged({ response_type: 'code id_token', nonce: 'n' }),
  },
  {
    what: 'for the resource of another service',
    refused: createCallbackError('invalid_target'),
    run: sendChanged({ resource: 'https://other.example/mcp' }),
  },
  {
    what: 'for the API',
    refused: createCallbackError('invalid_target'),
    run: (scene, isHostile) => sendChanged({ resource: `${scene.origin}/api` })(scene, isHostile),
  },
  {
    what: 'for the MCP address for agents',
    refused: createCallbackError('invalid_target'),
    run: (scene, isHostile) => sendChanged({ resource: `${scene.origin}/api/mcp` })(scene, isHostile),
  },
  {
    what: 'for two resources',
    refused: createCallbackError('invalid_target'),
    run: sendTwice('resource', 'https://other.example/mcp'),
  },
  {
    what: 'with prompt=none',
    refused: createCallbackError('login_required'),
    run: sendChanged({ prompt: 'none' }),
  },
  {
    what: 'for a response in a fragment',
    refused: createCallbackError('unsupported_response_mode'),
    run: sendChanged({ response_mode: 'fragment' }),
  },
  {
    what: 'for a response in a form that submits itself',
    refused: createCallbackError('unsupported_response_mode'),
    run: sendChanged({ response_mode: 'form_post' }),
  },
  {
    what: 'from an unknown app',
    refused: REFUSED_PAGE,
    run: sendChanged({ client_id: `app_${'A'.repeat(22)}` }),
  },
  { what: 'from an agent', refused: REFUSED_PAGE, run: sendChanged({ client_id: `agt_${'A'.repeat(22)}` }) },
  { what: 'without a client id', refused: REFUSED_PAGE, run: sendChanged({ client_id: undefined }) },
  {
    what: 'with two client ids',
    refused: REFUSED_PAGE,
    run: sendTwice('client_id', `app_${'A'.repeat(22)}`),
  },
  {
    what: 'with an unregistered redirect URI',
    refused: REFUSED_PAGE,
    run: sendChanged({ redirect_uri: 'https://evil.example/callback' }),
  },
  {
    what: 'with the redirect URI of a listed host, which the app did not register',
    refused: REFUSED_PAGE,
    run: sendChanged({ redirect_uri: 'https://claude.com/api/mcp/auth_callback' }),
  },
  {
    what: 'without a redirect URI',
    refused: REFUSED_PAGE,
    run: sendChanged({ redirect_uri: undefined }),
  },
  {
    what: 'with two redirect URIs',
    refused: REFUSED_PAGE,
    run: sendTwice('redirect_uri', 'https://evil.example/callback'),
  },
  {
    what: 'with another loopback host than the registered one',
    refused: REFUSED_PAGE,
    run: sendChanged({ redirect_uri: 'http://127.0.0.1:8787/callback' }, chooseNativeApp),
  },
  {
    what: 'with another loopback path than the registered one',
    refused: REFUSED_PAGE,
    run: sendChanged({ redirect_uri: 'http://localhost:8787/other' }, chooseNativeApp),
  },
  {
    what: 'with a mistake that would be reported to an unregistered URI (open redirect)',
    refused: REFUSED_PAGE,
    run: sendChanged({
      redirect_uri: 'https://evil.example/callback',
      response_type: 'nonsense',
      prompt: 'none',
    }),
  },
  {
    what: 'with a client document that does not exist',
    refused: REFUSED_PAGE,
    run: authorizeWithDocument(() => undefined),
  },
  {
    what: 'with a client document that has another client id',
    refused: REFUSED_PAGE,
    run: authorizeWithDocument((url) => documentFor(`${url}-other`)),
  },
  {
    what: 'with a client document whose redirect URI is of no listed host',
    refused: REFUSED_PAGE,
    run: authorizeWithDocument((url) =>
      documentFor(url, { redirect_uris: ['https://evil.example/callback'] }),
    ),
  },
  {
    what: 'with a client document without the redirect URI of the request',
    refused: REFUSED_PAGE,
    run: authorizeWithDocument((url) =>
      documentFor(url, { redirect_uris: ['https://claude.com/api/mcp/auth_callback'] }),
    ),
  },
  {
    what: 'with a client document that has a secret',
    refused: REFUSED_PAGE,
    run: authorizeWithDocument((url) =>
      documentFor(url, { token_endpoint_auth_method: 'client_secret_basic', client_secret: randomUUID() }),
    ),
  },
]
