import { fileURLToPath } from 'node:url'
import { type ManagedProcess, startManagedProcess } from './managed-process.ts'

const CADDYFILE = fileURLToPath(new URL('../../gateway/Caddyfile', import.meta.url))

/** Caddy with the project's own Caddyfile, on plain HTTP. @param options.auth addresses such as `127.0.0.1:8081` */
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
      PLAINPATH_HTTP_PORT: String(options.port),
      PLAINPATH_SITE: 'http://',
      PLAINPATH_REDIRECTED: 'http://redirected.invalid',
      PLAINPATH_AUTH: options.auth.join(' '),
      PLAINPATH_RESOURCE: options.resource.join(' '),
    },
    options,
  )

/** The same, as the variables say that the Caddyfile reads. */
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
