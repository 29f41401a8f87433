import { randomUUID } from 'node:crypto'
import type { RequestHandler } from '@plainpath/http'
import { createCertificateAuthority, createJsonHandler, startDocumentHost } from './document-host.ts'
import type { KeyPair } from './key-agent.ts'

const CLIENT_DOMAIN = 'clients.test'
/** `deep.agents` is a subdomain of `agents`. `notagents` only ends in the same letters, so a block of `agents` must spare it. */
const HOSTNAMES = [
  CLIENT_DOMAIN,
  ...['agents', 'other', 'third', 'deep.agents', 'notagents'].map((name) => `${name}.${CLIENT_DOMAIN}`),
]

/** Serves the documents of URL clients, over HTTPS on loopback. */
export interface AgentDocuments extends AsyncDisposable {
  /** The settings with which an instance can fetch from this server. */
  readonly settings: { readonly AUTH_CLIENT_DOCUMENT_TEST_HOSTS: string }
  /** The value of `StartOptions.documents` that makes an instance trust this server's certificate. */
  readonly documentOverrides: { readonly ca: string; readonly timeoutMs?: number }
  /** Serves the document of a new agent, by default at a new URL. The returned `key` is the first of the keys. */
  publish<Key extends PublicPart = KeyPair>(keys: readonly Key[], options?: PublishOptions): UrlAgent<Key>
}

interface PublishOptions {
  readonly hostname?: string
  readonly path?: string
  /** The `max-age` of the document, in seconds. By default, the response has no `cache-control`. */
  readonly maxAge?: number
}

/** The part of a key pair that a document contains. */
type PublicPart = Pick<KeyPair, 'jwk'>

/** A URL client of the tests, and the control over its document. */
export interface UrlAgent<Key = KeyPair> {
  readonly client_id: string
  readonly key: Key
  readonly hostname: string
  /** Returns the number of requests for the document so far, whatever their response. */
  countFetches(): number
  /** Replaces the document. If `document` is undefined, the server responds with 404. */
  setDocument(document: object | undefined): void
  /** Replaces the document with one that has these keys. */
  setKeys(...keys: readonly PublicPart[]): void
  /** Replaces the handler of the document's URL. */
  setHandler(handler: RequestHandler): void
  /** From now on, the server accepts requests for the document and does not respond. */
  hang(): void
}

/** Creates a valid document of an agent. Its name is a canary: text that must not appear in a log, or in plaintext in a store. */
export const createDocument = (client_id: string, keys: readonly PublicPart[]) => ({
  client_id,
  client_name: 'Canary-document-name',
  redirect_uris: ['https://agents.clients.test/callback'],
  grant_types: ['authorization_code', 'client_credentials'],
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys: keys.map(({ jwk }) => jwk) },
})

/** Starts a document host with a certificate for all `HOSTNAMES`. `publish` adds the documents of URL agents to it. */
export async function startAgentDocuments(): Promise<AgentDocuments> {
  const authority = await createCertificateAuthority()
  const documentHost = await startDocumentHost(await authority.issue(HOSTNAMES))
  const testHosts = HOSTNAMES.map((name) => `${name}:${documentHost.port}`)
  return {
    settings: { AUTH_CLIENT_DOCUMENT_TEST_HOSTS: testHosts.join(',') },
    documentOverrides: { ca: authority.pem },
    publish(keys, { hostname = `agents.${CLIENT_DOMAIN}`, path = `/${randomUUID()}`, maxAge } = {}) {
      const [key] = keys
      if (!key) throw new Error('a document needs at least one key')
      const client_id = `https://${hostname}:${documentHost.port}${path}`
      const headers = maxAge === undefined ? {} : { 'cache-control': `max-age=${maxAge}` }
      const setDocument = (document: object | undefined) =>
        documentHost.serve(
          path,
          document
            ? createJsonHandler(document, headers)
            : (_request, response) => response.writeHead(404).end(),
        )
      setDocument(createDocument(client_id, keys))
      return {
        client_id,
        hostname,
        key,
        countFetches: () => documentHost.requests.filter((each) => `https://${each}` === client_id).length,
        setDocument,
        setKeys: (...newKeys) => setDocument(createDocument(client_id, newKeys)),
        setHandler: (handler) => documentHost.serve(path, handler),
        hang: () => documentHost.serve(path, () => {}),
      }
    },
    [Symbol.asyncDispose]: () => documentHost[Symbol.asyncDispose](),
  }
}
