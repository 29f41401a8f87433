import { fileURLToPath } from 'node:url'
import { type ManagedProcess, startManagedProcess } from './managed-process.ts'

const CADDYFILE = fileURLToPath(new URL('../../gateway/Caddyfile', import.meta.url))

/**
 * Starts Caddy with the Caddyfile of the project, without TLS.
 *
 * @param options.auth addresses such as `127.0.0.1:8081`; `options.resource` likewise
 */
export const startGateway = (options: {
  program: string
  port: number
  auth: readonly string[]
  resource: readonly string[]
  folder: string
}): Promise<ManagedProcess> =>
  startGatewayWith(
    {
      PLAINPATH_ORIGIN: `http://localhost:${options.port}`,
      PLAINPATH_MCP_PUBLIC_ORIGIN: publicMcpOrigin(options.port),
      PLAINPATH_MCP_HOST: '127.0.0.1',
      PLAINPATH_HTTP_PORT: String(options.port),
      PLAINPATH_SITE: 'http://',
      PLAINPATH_REDIRECTED: 'http://redirected.invalid',
      PLAINPATH_AUTH: options.auth.join(' '),
      PLAINPATH_RESOURCE: options.resource.join(' '),
    },
    options,
  )

/** The origin of the public MCP server behind a gateway of this machine: another host than `localhost`, on the same port. */
export const publicMcpOrigin = (port: number) => `http://127.0.0.1:${port}`

/** Starts Caddy with the Caddyfile of the project. @param variables those that the Caddyfile reads */
export function startGatewayWith(
  variables: Readonly<Record<string, string>>,
  { program, folder }: { program: string; folder: string },
): Promise<ManagedProcess> {
  return startManagedProcess({
    name: 'gateway',
    command: [program, 'run', '--config', CADDYFILE, '--adapter', 'caddyfile'],
    env: { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder, ...variables },
    logFile: `${folder}/gateway.log`,
    readyLine: 'serving initial configuration',
  })
}
