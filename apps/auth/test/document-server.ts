import { randomUUID } from 'node:crypto'
import {
  type DocumentHost,
  openCertificateAuthority,
  respondJson,
  startDocumentHost,
} from './document-host.ts'
import type { KeyPair } from './key-agent.ts'

const CLIENT_DOMAIN = 'clients.test'
const HOSTS = [
  CLIENT_DOMAIN,
  ...['agents', 'other', 'third', 'deep.agents', 'notagents'].map((name) => `${name}.${CLIENT_DOMAIN}`),
]

/** Serves documents of clients with TLS on loopback. */
export interface DocumentServer extends AsyncDisposable {
  /** The settings with which an instance can fetch from this server. */
  readonly settings: { readonly AUTH_CLIENT_DOCUMENT_TEST_HOSTS: string }
  readonly runtime: { readonly ca: string }
  /** Serves a document at a new URL, of a client that signs with the first key. */
  publish<Key extends PublicPart = KeyPair>(keys: readonly Key[], options?: PublishOptions): UrlAgent<Key>
}

interface PublishOptions {
  readonly host?: string
  readonly path?: string
  readonly maxAge?: number
}

/** The part of a key that a document has. */
type PublicPart = Pick<KeyPair, 'jwk'>

export interface UrlAgent<Key = KeyPair> {
  readonly client_id: string
  readonly key: Key
  readonly host: string
  /** Returns the number of times that the document was fetched. */
  fetched(): number
  /** Serves something else from now on; undefined serves 404. */
  change(document: object | undefined): void
  changeKeys(...keys: readonly PublicPart[]): void
  /** Responds in this way from now on. */
  respond(respond: Parameters<DocumentHost['serve']>[1]): void
  /** Accepts requests from now on, and never responds. */
  hang(): void
}

export const documentOf = (client_id: string, keys: readonly PublicPart[]) => ({
  client_id,
  client_name: 'Canary-document-name',
  redirect_uris: ['https://agents.clients.test/callback'],
  grant_types: ['authorization_code', 'client_credentials'],
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys: keys.map(({ jwk }) => jwk) },
})

export async function startDocumentServer(): Promise<DocumentServer> {
  const authority = await openCertificateAuthority()
  const host = await startDocumentHost(await authority.issue(HOSTS))
  const testHosts = HOSTS.map((name) => `${name}:${host.port}`)
  return {
    settings: { AUTH_CLIENT_DOCUMENT_TEST_HOSTS: testHosts.join(',') },
    runtime: { ca: authority.pem },
    publish(keys, { host: name = `agents.${CLIENT_DOMAIN}`, path = `/${randomUUID()}`, maxAge } = {}) {
      const [key] = keys
      if (!key) throw new Error('a document has a key')
      const client_id = `https://${name}:${host.port}${path}`
      const headers = maxAge === undefined ? {} : { 'cache-control': `max-age=${maxAge}` }
      const change = (document: object | undefined) =>
        host.serve(
          path,
          document ? respondJson(document, headers) : (_request, response) => response.writeHead(404).end(),
        )
      change(documentOf(client_id, keys))
      return {
        client_id,
        host: name,
        key,
        fetched: () => host.requests.filter((each) => `https://${each}` === client_id).length,
        change,
        changeKeys: (...changed) => change(documentOf(client_id, changed)),
        respond: (respond) => host.serve(path, respond),
        hang: () => host.serve(path, () => {}),
      }
    },
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  }
}
