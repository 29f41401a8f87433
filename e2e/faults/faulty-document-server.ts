import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createSelfSignedCertificate } from '@plainpath/stack/self-signed-certificate'
import type { AgentKey } from '../agent-key.ts'

const HOST = 'localhost'

/**
 * Faults of the server: it does not respond, closes the connection within the body, or has another host's certificate.
 */
export type DocumentServerFault = 'silent' | 'cut' | 'wrong certificate'

/** An HTTPS server with a Client ID Metadata Document at every path. All these clients share one key. */
export interface FaultyDocumentServer extends AsyncDisposable {
  /** `host:port`, as `AUTH_CLIENT_DOCUMENT_TEST_HOSTS` names it. */
  readonly address: string
  /** The certificate to trust, as PEM. */
  readonly certificate: string
  /** Returns the URL of a document, which is the id of its client. */
  createUrl(name: string): string
  /** Sets the fault; undefined ends it. A change of the certificate affects only new connections. */
  setFault(fault: DocumentServerFault | undefined): void
}

/**
 * Starts the server on a free port of loopback.
 *
 * @param key the key in every document
 */
export async function startFaultyDocumentServer(key: AgentKey): Promise<FaultyDocumentServer> {
  const ownCertificate = createSelfSignedCertificate(HOST)
  const otherCertificate = createSelfSignedCertificate('another.example')
  let fault: DocumentServerFault | undefined
  let address = ''
  const server = createServer(
    { key: ownCertificate.privateKey, cert: ownCertificate.certificate },
    (request, response) => {
      if (fault === 'silent') return
      const document = JSON.stringify({
        client_id: `https://${address}${request.url}`,
        token_endpoint_auth_method: 'private_key_jwt',
        grant_types: ['client_credentials'],
        jwks: { keys: [key.publicJwk] },
      })
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(document)),
      })
      if (fault === 'cut') response.write(document.slice(0, 20), () => response.destroy())
      else response.end(document)
    },
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  address = `${HOST}:${(server.address() as AddressInfo).port}`
  return {
    address,
    certificate: ownCertificate.certificate,
    createUrl: (name) => `https://${address}/${name}.json`,
    setFault(newFault) {
      fault = newFault
      const { privateKey, certificate } = newFault === 'wrong certificate' ? otherCertificate : ownCertificate
      server.setSecureContext({ key: privateKey, cert: certificate })
    },
    async [Symbol.asyncDispose]() {
      const closeEvent = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closeEvent
    },
  }
}
