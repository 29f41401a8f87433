import { randomUUID } from 'node:crypto'
import type { App, Authorization, Fields } from './app.ts'
import { publishDocument } from './publish-document.ts'
import { atPage, CLAUDE_URI, type HostileRow, LOOPBACK_URI, type Outcome, type Scene } from './scene.ts'

/** Sends an authorization request with changes. Without them, the person signs in and the app receives its tokens. */
const sendChanged =
  (hostile: Fields, choose: (scene: Scene) => { app: App; redirectUri: string } = chooseSiteApp) =>
  async (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const { app, redirectUri } = choose(scene)
    return authorize(scene, app, app.authorize({ redirectUri, changes: isHostile ? hostile : {} }))
  }

async function authorize(scene: Scene, app: App, authorization: Authorization): Promise<Outcome> {
  const person = scene.person()
  await scene.attack()
  const page = await person.browser.open(authorization.url)
  if (page.left || page.status !== 200) return atPage(page)
  const decision = await person.giveAddress(page)
  return scene.redeem(app, authorization, await person.allow(decision.page, decision.code))
}

const chooseSiteApp = ({ app }: Scene) => ({ app, redirectUri: CLAUDE_URI })
const chooseNativeApp = ({ native }: Scene) => ({ app: native, redirectUri: LOOPBACK_URI })

/** Sends an authorization request with a second value of a parameter. */
const sendTwice =
  (name: string, value: string) =>
  (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI })
    if (isHostile) authorization.url.searchParams.append(name, value)
    return authorize(scene, scene.app, authorization)
  }

/** Publishes a document, and begins an authorization with it. */
const authorizeWithDocument =
  (hostile: (url: string) => object | undefined) =>
  async (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const { url } = publishDocument(scene.documents, isHostile ? hostile : (id) => documentFor(id))
    const changes = { client_id: url }
    const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI, changes })
    const person = scene.person()
    await scene.attack()
    const page = await person.browser.open(authorization.url)
    if (page.left || page.status !== 200) return atPage(page)
    const decision = await person.giveAddress(page)
    const callback = await person.allow(decision.page, decision.code)
    const tokens = await scene.app.exchange(authorization, callback, changes)
    return tokens.access_token === undefined ? { at: 'token', status: tokens.status } : { at: 'granted' }
  }

/** Creates a valid document of a client, with changes. */
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
    what: 'with a method of PKCE but no challenge',
    refused: createCallbackError('invalid_request'),
    run: sendChanged({ code_challenge: undefined }),
  },
  {
    what: 'with PKCE in the clear',
    refused: createCallbackError('invalid_request'),
    run: sendChanged({ code_challenge_method: 'plain' }),
  },
  {
    what: 'with a challenge whose method is the default of RFC 7636, plain',
    refused: createCallbackError('invalid_request'),
    run: sendChanged({ code_challenge_method: undefined }),
  },
  {
    what: 'with a challenge that is no SHA-256',
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
    what: 'for the resource of somebody else',
    refused: createCallbackError('invalid_target'),
    run: sendChanged({ resource: 'https://other.example/mcp' }),
  },
  {
    what: 'for the API of agents',
    refused: createCallbackError('invalid_target'),
    run: (scene, isHostile) => sendChanged({ resource: `${scene.origin}/api` })(scene, isHostile),
  },
  {
    what: 'for the MCP address of agents',
    refused: createCallbackError('invalid_target'),
    run: (scene, isHostile) => sendChanged({ resource: `${scene.origin}/api/mcp` })(scene, isHostile),
  },
  {
    what: 'for two resources',
    refused: createCallbackError('invalid_target'),
    run: sendTwice('resource', 'https://other.example/mcp'),
  },
  {
    what: 'without showing a page',
    refused: createCallbackError('login_required'),
    run: sendChanged({ prompt: 'none' }),
  },
  {
    what: 'for a response in a fragment',
    refused: createCallbackError('unsupported_response_mode'),
    run: sendChanged({ response_mode: 'fragment' }),
  },
  {
    what: 'for a response in a form that posts itself',
    refused: createCallbackError('unsupported_response_mode'),
    run: sendChanged({ response_mode: 'form_post' }),
  },
  {
    what: 'of an unknown app',
    refused: REFUSED_PAGE,
    run: sendChanged({ client_id: `app_${'A'.repeat(22)}` }),
  },
  { what: 'of an agent', refused: REFUSED_PAGE, run: sendChanged({ client_id: `agt_${'A'.repeat(22)}` }) },
  { what: 'of no app', refused: REFUSED_PAGE, run: sendChanged({ client_id: undefined }) },
  { what: 'of two apps', refused: REFUSED_PAGE, run: sendTwice('client_id', `app_${'A'.repeat(22)}`) },
  {
    what: 'that returns elsewhere',
    refused: REFUSED_PAGE,
    run: sendChanged({ redirect_uri: 'https://evil.example/callback' }),
  },
  {
    what: 'that returns to a listed host which the app did not register',
    refused: REFUSED_PAGE,
    run: sendChanged({ redirect_uri: 'https://claude.com/api/mcp/auth_callback' }),
  },
  {
    what: 'that does not say where it returns',
    refused: REFUSED_PAGE,
    run: sendChanged({ redirect_uri: undefined }),
  },
  {
    what: 'that says twice where it returns',
    refused: REFUSED_PAGE,
    run: sendTwice('redirect_uri', 'https://evil.example/callback'),
  },
  {
    what: 'that returns to another name of this computer',
    refused: REFUSED_PAGE,
    run: sendChanged({ redirect_uri: 'http://127.0.0.1:8787/callback' }, chooseNativeApp),
  },
  {
    what: 'that returns to another path of this computer',
    refused: REFUSED_PAGE,
    run: sendChanged({ redirect_uri: 'http://localhost:8787/other' }, chooseNativeApp),
  },
  {
    what: 'with a mistake that would be reported elsewhere (open redirect)',
    refused: REFUSED_PAGE,
    run: sendChanged({
      redirect_uri: 'https://evil.example/callback',
      response_type: 'nonsense',
      prompt: 'none',
    }),
  },
  {
    what: 'of a document that is not there',
    refused: REFUSED_PAGE,
    run: authorizeWithDocument(() => undefined),
  },
  {
    what: 'of a document that is about another app',
    refused: REFUSED_PAGE,
    run: authorizeWithDocument((url) => documentFor(`${url}-other`)),
  },
  {
    what: 'of a document that returns elsewhere',
    refused: REFUSED_PAGE,
    run: authorizeWithDocument((url) =>
      documentFor(url, { redirect_uris: ['https://evil.example/callback'] }),
    ),
  },
  {
    what: 'of a document that does not return to the listed host',
    refused: REFUSED_PAGE,
    run: authorizeWithDocument((url) =>
      documentFor(url, { redirect_uris: ['https://claude.com/api/mcp/auth_callback'] }),
    ),
  },
  {
    what: 'of a document with a secret',
    refused: REFUSED_PAGE,
    run: authorizeWithDocument((url) =>
      documentFor(url, { token_endpoint_auth_method: 'client_secret_basic', client_secret: randomUUID() }),
    ),
  },
]
