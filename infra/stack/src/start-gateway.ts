import { fileURLToPath } from 'node:url'
import { type ManagedProcess, startManagedProcess } from './managed-process.ts'

const CADDYFILE = fileURLToPath(new URL('../../gateway/Caddyfile', import.meta.url))

/** Caddy with the project's own Caddyfile, on plain HTTP. @param options.auth addresses such as `127.0.0.1:8081` */
export function startGateway(options: {
  program: string
  port: number
  auth: readonly string[]
  resource: readonly string[]
  folder: string
}): Promise<ManagedProcess> {
  return startManagedProcess({
    name: 'gateway',
    command: options.program,
    args: ['run', '--config', CADDYFILE, '--adapter', 'caddyfile'],
    env: {
      HOME: options.folder,
      XDG_DATA_HOME: options.folder,
      XDG_CONFIG_HOME: options.folder,
      PLAINPATH_ORIGIN: `http://localhost:${options.port}`,
      // A request for another host reaches the apps too, which refuse it.
      PLAINPATH_SITE: `http://localhost:${options.port} http://:${options.port}`,
      PLAINPATH_AUTH: options.auth.join(' '),
      PLAINPATH_RESOURCE: options.resource.join(' '),
    },
    logFile: `${options.folder}/gateway.log`,
    readyLine: 'serving initial configuration',
  })
}
