import { randomBytes } from 'node:crypto'
import type { AppClient } from '../src/app-clients/app-client.ts'
import type { AgentDocuments, UrlAgent } from './agent-documents.ts'
import {
  type AppTokens,
  createExampleApp,
  createSignInRoute,
  getCode,
  readTokens,
  redeemCode,
  refresh,
} from './app-flow.ts'
import { createAssertionFields, type KeyPair } from './key-agent.ts'
import type { AuthTestbed } from './open-auth-testbed.ts'
import type { RunningAuth, StartOptions } from './start-auth.ts'
import { type Clock, signAssertionByClock, startUrlInstance } from './url-agent.ts'

const LOOPBACK = 'http://127.0.0.1/callback'

/** Starts an instance that finds apps by their documents. Only the sign-in pages are those of `createSignInRoute`. */
export const startDocumentInstance = (
  testbed: AuthTestbed,
  agentDocuments: AgentDocuments,
  clock: Clock,
  options: Pick<StartOptions, 'origin'> = {},
): Promise<RunningAuth> =>
  startUrlInstance(testbed, agentDocuments, clock, {
    ...options,
    apps: {
      signIn: (interactions, stores) => [createSignInRoute(interactions, stores, () => clock.now)],
    },
  })

/** An app that is known by its document and that the list of hosts does not name, such as a program on a person's machine. */
export interface DocumentApp {
  readonly client: AppClient
  readonly published: UrlAgent
  /** The members of its valid document. */
  readonly document: object
}

/** Publishes the document of an app. With `private_key_jwt`, the app signs with `key`. */
export function publishDocumentApp(
  agentDocuments: AgentDocuments,
  key: KeyPair,
  authMethod: AppClient['authMethod'],
  options: { maxAge?: number; hostname?: string } = {},
): DocumentApp {
  const published = agentDocuments.publish([key], options)
  const document = {
    client_id: published.client_id,
    redirect_uris: [LOOPBACK],
    ...(authMethod === 'private_key_jwt' && {
      token_endpoint_auth_method: authMethod,
      jwks: { keys: [key.jwk] },
    }),
  }
  published.setDocument(document)
  const port = 50_000 + randomBytes(1).readUInt8()
  const redirectUris = [LOOPBACK.replace('/callback', `:${port}/callback`)]
  const client = createExampleApp({
    id: published.client_id,
    redirectUris,
    applicationType: 'native',
    authMethod,
    source: 'document',
  })
  return { client, published, document }
}

/** Creates the form fields that authenticate an app: none for a public app, otherwise a fresh assertion. */
export const authenticateApp = async (
  auth: RunningAuth,
  { client, published }: DocumentApp,
  clock: Clock,
): Promise<Record<string, string>> =>
  client.authMethod === 'none'
    ? {}
    : createAssertionFields(await signAssertionByClock(auth, published, clock))

/** The origin of the instances is not the one of which `app-flow.ts` builds the resource, so the parameter is left out. */
export const NO_RESOURCE = { resource: undefined }

/** Goes through the whole flow, from the authorization request to the tokens. */
export async function connectDocumentApp(
  auth: RunningAuth,
  app: DocumentApp,
  clock: Clock,
): Promise<AppTokens> {
  const code = await getCode({ auth }, app.client, NO_RESOURCE)
  const fields = await authenticateApp(auth, app, clock)
  return readTokens(auth, await redeemCode(auth, app.client, code, { ...NO_RESOURCE, ...fields }))
}

/** Requests new tokens. Does not check the response. */
export const refreshDocumentApp = async (auth: RunningAuth, app: DocumentApp, clock: Clock, token: string) =>
  refresh(auth, app.client, token, { ...NO_RESOURCE, ...(await authenticateApp(auth, app, clock)) })
