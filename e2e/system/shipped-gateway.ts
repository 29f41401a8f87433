import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import { findDebianPrograms } from '@plainpath/stack/debian-program'
import { createSelfSignedCertificate } from '@plainpath/stack/self-signed-certificate'
import { CADDYFILE, startGatewayWithVariables } from '@plainpath/stack/start-gateway'
import { readCompose, readVariables } from '@plainpath/topology/read-manifests'
import { createSender } from '../send.ts'

/** The environment variables of the gateway in the Kubernetes base and in compose.yaml. */
export const SHIPPED = {
  kubernetes: readVariables('kubernetes/base/gateway.env'),
  compose: readCompose().services['gateway']?.environment ?? {},
}
/** The origin that the Kubernetes base configures. */
export const SHIPPED_ORIGIN = SHIPPED.kubernetes['PLAINPATH_ORIGIN'] ?? ''
/** The folder of the certificate in a pod. */
const POD_FOLDER = '/run/plainpath'

/**
 * Starts Caddy with the shipped variables and a self-signed certificate. Replaces what depends on the machine: the
 * ports, the addresses of the apps, and the folder of the certificate.
 *
 * @returns the ports, and senders to them: `plain` sends HTTP, `secure` sends HTTPS. `tls` has the options with which a client
 *   trusts the certificate
 */
export async function startShippedGateway(
  variables: Readonly<Record<string, string | undefined>>,
  /** The addresses of the processes of each app, such as `127.0.0.1:8081`. */
  apps: { auth: readonly string[]; resource: readonly string[] },
  /** Changes the text of the Caddyfile, such as a time-out for which a test cannot wait. */
  editCaddyfile = (text: string) => text,
) {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-gateway-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const servername = new URL(SHIPPED_ORIGIN).host
  const { privateKey, certificate: ca } = createSelfSignedCertificate(servername)
  await writeFile(path.join(folder, 'tls.key'), privateKey)
  await writeFile(path.join(folder, 'tls.crt'), ca)
  const caddyfile = path.join(folder, 'Caddyfile')
  await writeFile(caddyfile, editCaddyfile(await readFile(CADDYFILE, 'utf8')))
  const { caddy } = await findDebianPrograms(['caddy'], process.env['PATH'] ?? '')
  const [httpPort = 0, httpsPort = 0] = await reserveFreePorts(2)
  const localVariables = Object.entries(variables).map(([name, value = '']) => [
    name,
    value.replaceAll(POD_FOLDER, folder),
  ])
  opening.use(
    await startGatewayWithVariables(
      {
        ...(Object.fromEntries(localVariables) as Record<string, string>),
        PLAINPATH_HTTP_PORT: String(httpPort),
        PLAINPATH_HTTPS_PORT: String(httpsPort),
        PLAINPATH_AUTH: apps.auth.join(' '),
        PLAINPATH_RESOURCE: apps.resource.join(' '),
      },
      { program: caddy, folder },
      caddyfile,
    ),
  )
  const plain = opening.use(createSender(`http://127.0.0.1:${httpPort}`))
  const secure = opening.use(createSender(`https://127.0.0.1:${httpsPort}`, { tls: { servername, ca } }))
  const resources = opening.move()
  return {
    plain,
    secure,
    httpPort,
    httpsPort,
    tls: { servername, ca },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
export type ShippedGateway = Awaited<ReturnType<typeof startShippedGateway>>
