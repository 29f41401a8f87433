import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { AgentId, DAY_MS } from '@plainpath/domain'
import type { RequestHandler } from '@plainpath/http'
import { generate } from 'selfsigned'

export interface Certificate {
  readonly key: string
  readonly cert: string
}

/** A certificate authority for tests. Only clients that get `pem` as their `ca` trust it. */
export interface CertificateAuthority {
  /** Its certificate, as PEM. */
  readonly pem: string
  /** Issues a certificate for the host names, by default valid from half a day ago until tomorrow. */
  issue(
    names: readonly string[],
    validity?: { readonly from: Date; readonly until: Date },
  ): Promise<Certificate>
}

export async function createCertificateAuthority(): Promise<CertificateAuthority> {
  const authority = await generate([{ name: 'commonName', value: 'Test CA' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(Date.now() - DAY_MS),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  })
  return {
    pem: authority.cert,
    async issue(names, validity) {
      const certificate = await generate([{ name: 'commonName', value: names[0] ?? '' }], {
        keyType: 'ec',
        algorithm: 'sha256',
        ca: { key: authority.private, cert: authority.cert },
        notBeforeDate: validity?.from ?? new Date(Date.now() - DAY_MS / 2),
        notAfterDate: validity?.until ?? new Date(Date.now() + DAY_MS),
        // Type 2 is a DNS name (RFC 5280, `dNSName`).
        extensions: [{ name: 'subjectAltName', altNames: names.map((value) => ({ type: 2, value })) }],
      })
      return { key: certificate.private, cert: certificate.cert }
    },
  }
}

export interface DocumentHost extends AsyncDisposable {
  readonly port: number
  /** The received requests, as `host:port/path?query`. */
  readonly requests: string[]
  /** Returns the URL of a path under one of the host's names, in the form of a client id. */
  getUrl(name: string, path: string): AgentId
  /** Sets the handler for a path with its query. All other paths get 404. */
  serve(path: string, handler: RequestHandler): void
}

/** Starts an HTTPS server for documents, by default on a free port of 127.0.0.1. */
export async function startDocumentHost(
  certificate: Certificate,
  { address = '127.0.0.1', port = 0 }: { address?: string; port?: number } = {},
): Promise<DocumentHost> {
  const handlersByPath = new Map<string, RequestHandler>()
  const requests: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer(certificate, (request, response) => {
    requests.push(`${request.headers.host}${request.url}`)
    const handler = handlersByPath.get(request.url ?? '')
    if (handler) handler(request, response)
    else response.writeHead(404).end()
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(port, address)
  await once(server, 'listening')
  const boundPort = (server.address() as AddressInfo).port
  return {
    port: boundPort,
    requests,
    getUrl: (name, path) => AgentId.parse(`https://${name}:${boundPort}${path}`),
    serve: (path, handler) => void handlersByPath.set(path, handler),
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** Creates a handler that responds with JSON and the headers. Node adds `content-length`. */
export const createJsonHandler =
  (json: unknown, headers: Readonly<Record<string, string>> = {}): RequestHandler =>
  (_request, response) =>
    response
      .setHeaders(new Map(Object.entries({ 'content-type': 'application/json', ...headers })))
      .end(JSON.stringify(json))

/** Creates a valid Client ID Metadata Document with these public JWKs. Some members contain a canary, which must not leak. */
export const createClientDocument = (url: string, keys: readonly object[]) => ({
  client_id: url,
  client_name: 'Canary-7f3',
  client_uri: 'https://canary-7f3.example/',
  redirect_uris: ['https://canary-7f3.example/callback'],
  grant_types: ['authorization_code', 'client_credentials'],
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys },
})
