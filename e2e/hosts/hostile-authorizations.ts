import { randomUUID } from 'node:crypto'
import type { App, Authorization, Fields } from './app.ts'
import { publishDocument } from './publish-document.ts'
import {
  CLAUDE_URI,
  type HostileCase,
  LOOPBACK_URI,
  type Outcome,
  type Scene,
  toPageOutcome,
} from './scene.ts'

/** Creates a step that sends an authorization request, with changes if it is hostile. */
const authorizeWithChanges =
  (changes: Fields, chooseApp: (scene: Scene) => { app: App; redirectUri: string } = chooseSiteApp) =>
  async (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const { app, redirectUri } = chooseApp(scene)
    return openAsNewPerson(scene, app, app.authorize({ redirectUri, changes: isHostile ? changes : {} }))
  }

/** Opens an authorization request as a new person. If the sign-in page is shown, signs in and redeems the code. */
async function openAsNewPerson(scene: Scene, app: App, authorization: Authorization): Promise<Outcome> {
  const person = scene.createPerson()
  await scene.startCountingGrants()
  const page = await person.browser.open(authorization.url)
  if (page.externalTarget || page.status !== 200) return toPageOutcome(page)
  const decision = await person.giveAddress(page)
  return scene.redeem(app, authorization, await person.allow(decision.page, decision.code))
}

const chooseSiteApp = ({ app }: Scene) => ({ app, redirectUri: CLAUDE_URI })
const chooseNativeApp = ({ nativeApp }: Scene) => ({ app: nativeApp, redirectUri: LOOPBACK_URI })

/** Creates a step that sends an authorization request, with a second value of a parameter if it is hostile. */
const authorizeWithSecondValue =
  (name: string, value: string) =>
  (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI })
    if (isHostile) authorization.url.searchParams.append(name, value)
    return openAsNewPerson(scene, scene.app, authorization)
  }

/** Creates a step that publishes a client document, and sends an authorization request with the document's URL. */
const authorizeWithDocument =
  (createHostileDocument: (url: string) => object | undefined) =>
  async (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const { url } = publishDocument(
      scene.documents,
      isHostile ? createHostileDocument : (id) => createAppDocument(id),
    )
    const changes = { client_id: url }
    const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI, changes })
    const person = scene.createPerson()
    await scene.startCountingGrants()
    const page = await person.browser.open(authorization.url)
    if (page.externalTarget || page.status !== 200) return toPageOutcome(page)
    const decision = await person.giveAddress(page)
    const callback = await person.allow(decision.page, decision.code)
    const tokens = await scene.app.exchange(authorization, callback, changes)
    return tokens.access_token === undefined ? { at: 'token', status: tokens.status } : { at: 'granted' }
  }

/** Creates a valid client document, with changes. */
export const createAppDocument = (client_id: string, changes: object = {}) => ({
  client_id,
  client_name: 'An app with a document',
  redirect_uris: [CLAUDE_URI],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
  ...changes,
})

/**
 * The page for a mistake in the client or its redirect URI. The service must not redirect to a URI that it does not trust
 * (RFC 6749 §4.1.2.1).
 */
const REFUSED_PAGE = { at: 'page', status: 400 } as const
const createCallbackError = (error: string) => ({ at: 'callback', error }) as const

/** Authorization requests that the service must refuse, on a page or with an error at the app's redirect URI. */
export const HOSTILE_AUTHORIZATIONS: readonly HostileCase[] = [
  {
    description: 'without PKCE',
    expectedOutcome: createCallbackError('invalid_request'),
    run: authorizeWithChanges({ code_challenge: undefined, code_challenge_method: undefined }),
  },
  {
    description: 'with a PKCE method but no challenge',
    expectedOutcome: createCallbackError('invalid_request'),
    run: authorizeWithChanges({ code_challenge: undefined }),
  },
  {
    description: 'with the PKCE method plain',
    expectedOutcome: createCallbackError('invalid_request'),
    run: authorizeWithChanges({ code_challenge_method: 'plain' }),
  },
  {
    description: 'with a challenge without a method, which is plain by default (RFC 7636)',
    expectedOutcome: createCallbackError('invalid_request'),
    run: authorizeWithChanges({ code_challenge_method: undefined }),
  },
  {
    description: 'with a challenge that is not a SHA-256 hash',
    expectedOutcome: createCallbackError('invalid_request'),
    run: authorizeWithChanges({ code_challenge: 'short' }),
  },
  {
    description: 'for a token without a code',
    expectedOutcome: createCallbackError('unsupported_response_type'),
    run: authorizeWithChanges({ response_type: 'token' }),
  },
  {
    description: 'for a code and an ID token',
    expectedOutcome: createCallbackError('unsupported_response_type'),
    run: authorizeWithChanges({ response_type: 'code id_token', nonce: 'n' }),
  },
  {
    description: 'for the resource of another service',
    expectedOutcome: createCallbackError('invalid_target'),
    run: authorizeWithChanges({ resource: 'https://other.example/mcp' }),
  },
  {
    description: 'for the API',
    expectedOutcome: createCallbackError('invalid_target'),
    run: (scene, isHostile) => authorizeWithChanges({ resource: `${scene.origin}/api` })(scene, isHostile),
  },
  {
    description: 'for the MCP address for agents',
    expectedOutcome: createCallbackError('invalid_target'),
    run: (scene, isHostile) =>
      authorizeWithChanges({ resource: `${scene.origin}/api/mcp` })(scene, isHostile),
  },
  {
    description: 'for two resources',
    expectedOutcome: createCallbackError('invalid_target'),
    run: authorizeWithSecondValue('resource', 'https://other.example/mcp'),
  },
  {
    description: 'with prompt=none',
    expectedOutcome: createCallbackError('login_required'),
    run: authorizeWithChanges({ prompt: 'none' }),
  },
  {
    description: 'for a response in a fragment',
    expectedOutcome: createCallbackError('unsupported_response_mode'),
    run: authorizeWithChanges({ response_mode: 'fragment' }),
  },
  {
    description: 'for a response in a form that submits itself',
    expectedOutcome: createCallbackError('unsupported_response_mode'),
    run: authorizeWithChanges({ response_mode: 'form_post' }),
  },
  {
    description: 'from an unknown app',
    expectedOutcome: REFUSED_PAGE,
    run: authorizeWithChanges({ client_id: `app_${'A'.repeat(22)}` }),
  },
  {
    description: 'from an agent',
    expectedOutcome: REFUSED_PAGE,
    run: authorizeWithChanges({ client_id: `agt_${'A'.repeat(22)}` }),
  },
  {
    description: 'without a client id',
    expectedOutcome: REFUSED_PAGE,
    run: authorizeWithChanges({ client_id: undefined }),
  },
  {
    description: 'with two client ids',
    expectedOutcome: REFUSED_PAGE,
    run: authorizeWithSecondValue('client_id', `app_${'A'.repeat(22)}`),
  },
  {
    description: 'with an unregistered redirect URI',
    expectedOutcome: REFUSED_PAGE,
    run: authorizeWithChanges({ redirect_uri: 'https://evil.example/callback' }),
  },
  {
    description: 'with the redirect URI of a listed host, which the app did not register',
    expectedOutcome: REFUSED_PAGE,
    run: authorizeWithChanges({ redirect_uri: 'https://claude.com/api/mcp/auth_callback' }),
  },
  {
    description: 'without a redirect URI',
    expectedOutcome: REFUSED_PAGE,
    run: authorizeWithChanges({ redirect_uri: undefined }),
  },
  {
    description: 'with two redirect URIs',
    expectedOutcome: REFUSED_PAGE,
    run: authorizeWithSecondValue('redirect_uri', 'https://evil.example/callback'),
  },
  {
    description: 'with another loopback host than the registered one',
    expectedOutcome: REFUSED_PAGE,
    run: authorizeWithChanges({ redirect_uri: 'http://127.0.0.1:8787/callback' }, chooseNativeApp),
  },
  {
    description: 'with another loopback path than the registered one',
    expectedOutcome: REFUSED_PAGE,
    run: authorizeWithChanges({ redirect_uri: 'http://localhost:8787/other' }, chooseNativeApp),
  },
  {
    description: 'with a mistake that would be reported to an unregistered URI (open redirect)',
    expectedOutcome: REFUSED_PAGE,
    run: authorizeWithChanges({
      redirect_uri: 'https://evil.example/callback',
      response_type: 'nonsense',
      prompt: 'none',
    }),
  },
  {
    description: 'with a client document that does not exist',
    expectedOutcome: REFUSED_PAGE,
    run: authorizeWithDocument(() => undefined),
  },
  {
    description: 'with a client document that has another client id',
    expectedOutcome: REFUSED_PAGE,
    run: authorizeWithDocument((url) => createAppDocument(`${url}-other`)),
  },
  {
    description: 'with a client document whose redirect URI belongs to no listed host',
    expectedOutcome: REFUSED_PAGE,
    run: authorizeWithDocument((url) =>
      createAppDocument(url, { redirect_uris: ['https://evil.example/callback'] }),
    ),
  },
  {
    description: 'with a client document without the redirect URI of the request',
    expectedOutcome: REFUSED_PAGE,
    run: authorizeWithDocument((url) =>
      createAppDocument(url, { redirect_uris: ['https://claude.com/api/mcp/auth_callback'] }),
    ),
  },
  {
    description: 'with a client document that has a secret',
    expectedOutcome: REFUSED_PAGE,
    run: authorizeWithDocument((url) =>
      createAppDocument(url, {
        token_endpoint_auth_method: 'client_secret_basic',
        client_secret: randomUUID(),
      }),
    ),
  },
]
