import { randomUUID } from 'node:crypto'
import type { RequestHandler } from '@plainpath/http'
import { createCertificateAuthority, createJsonHandler, startDocumentHost } from './document-host.ts'
import type { KeyPair } from './key-agent.ts'

const CLIENT_DOMAIN = 'clients.test'
const HOSTS = [
  CLIENT_DOMAIN,
  ...['agents', 'other', 'third', 'deep.agents', 'notagents'].map((name) => `${name}.${CLIENT_DOMAIN}`),
]

/** Serves the documents of URL clients, over HTTPS on loopback. */
export interface DocumentServer extends AsyncDisposable {
  /** The settings with which an instance can fetch from this server. */
  readonly settings: { readonly AUTH_CLIENT_DOCUMENT_TEST_HOSTS: string }
  /** The runtime dependency `documents` of such an instance. With it, the instance trusts the server's certificate. */
  readonly runtime: { readonly ca: string }
  /** Serves the document of a new client, by default at a new URL. The returned client signs with the first key. */
  publish<Key extends PublicPart = KeyPair>(keys: readonly Key[], options?: PublishOptions): UrlAgent<Key>
}

interface PublishOptions {
  readonly host?: string
  readonly path?: string
  /** The `max-age` of the document, in seconds. By default, the response has no `cache-control`. */
  readonly maxAge?: number
}

/** The part of a key pair that a document contains. */
type PublicPart = Pick<KeyPair, 'jwk'>

export interface UrlAgent<Key = KeyPair> {
  readonly client_id: string
  readonly key: Key
  readonly host: string
  /** Returns the number of times that the document was fetched. */
  countFetches(): number
  /** Replaces the document. With undefined, the URL gets 404. */
  change(document: object | undefined): void
  /** Replaces the document with one that has these keys. */
  changeKeys(...keys: readonly PublicPart[]): void
  /** Replaces the handler of the document's URL. */
  respond(handler: RequestHandler): void
  /** From now on, the server accepts requests for the document and does not respond. */
  hang(): void
}

/** Creates a valid document of an agent. Its name is a canary. */
export const createDocument = (client_id: string, keys: readonly PublicPart[]) => ({
  client_id,
  client_name: 'Canary-document-name',
  redirect_uris: ['https://agents.clients.test/callback'],
  grant_types: ['authorization_code', 'client_credentials'],
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys: keys.map(({ jwk }) => jwk) },
})

export async function startDocumentServer(): Promise<DocumentServer> {
  const authority = await createCertificateAuthority()
  const host = await startDocumentHost(await authority.issue(HOSTS))
  const testHosts = HOSTS.map((name) => `${name}:${host.port}`)
  return {
    settings: { AUTH_CLIENT_DOCUMENT_TEST_HOSTS: testHosts.join(',') },
    runtime: { ca: authority.pem },
    publish(keys, { host: name = `agents.${CLIENT_DOMAIN}`, path = `/${randomUUID()}`, maxAge } = {}) {
      const [key] = keys
      if (!key) throw new Error('a document needs at least one key')
      const client_id = `https://${name}:${host.port}${path}`
      const headers = maxAge === undefined ? {} : { 'cache-control': `max-age=${maxAge}` }
      const change = (document: object | undefined) =>
        host.serve(
          path,
          document
            ? createJsonHandler(document, headers)
            : (_request, response) => response.writeHead(404).end(),
        )
      change(createDocument(client_id, keys))
      return {
        client_id,
        host: name,
        key,
        countFetches: () => host.requests.filter((each) => `https://${each}` === client_id).length,
        change,
        changeKeys: (...newKeys) => change(createDocument(client_id, newKeys)),
        respond: (handler) => host.serve(path, handler),
        hang: () => host.serve(path, () => {}),
      }
    },
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  }
}
