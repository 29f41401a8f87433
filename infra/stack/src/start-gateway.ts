import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ManagedProcess, startManagedProcess } from './managed-process.ts'

/** The path of the project's Caddyfile. */
export const CADDYFILE = fileURLToPath(new URL('../../gateway/Caddyfile', import.meta.url))

/**
 * Starts Caddy with the Caddyfile of the project, without TLS.
 *
 * @param options.auth the addresses of all instances of auth, such as `127.0.0.1:8081`; `options.resource` likewise
 * @param options.program the path of Caddy
 * @param options.folder where Caddy keeps its files, and where its log is written
 * @param options.logHealthChecks by default true. Set it to false if nothing listens on some of the addresses: Caddy would log
 *   each failed check, ten times a second for each instance
 */
export async function startGateway(options: {
  program: string
  port: number
  auth: readonly string[]
  resource: readonly string[]
  folder: string
  logHealthChecks?: boolean
}): Promise<ManagedProcess> {
  const { logHealthChecks = true } = options
  return startGatewayWithVariables(
    {
      PLAINPATH_ORIGIN: `http://localhost:${options.port}`,
      PLAINPATH_MCP_PUBLIC_ORIGIN: toPublicMcpOrigin(options.port),
      PLAINPATH_MCP_HOST: '127.0.0.1',
      PLAINPATH_HTTP_PORT: String(options.port),
      PLAINPATH_SITE: 'http://',
      // Matches no request, so none is redirected to TLS.
      PLAINPATH_REDIRECTED: 'http://redirected.invalid',
      PLAINPATH_AUTH: options.auth.join(' '),
      PLAINPATH_RESOURCE: options.resource.join(' '),
    },
    options,
    logHealthChecks ? CADDYFILE : await writeQuietCaddyfile(options.folder),
  )
}

/**
 * Writes a copy of the project's Caddyfile that does not log health checks.
 *
 * @returns the path of the copy
 */
async function writeQuietCaddyfile(folder: string): Promise<string> {
  const text = await readFile(CADDYFILE, 'utf8')
  const quietText = text.replace(
    /^\{\n/,
    '{\n\tlog {\n\t\texclude http.handlers.reverse_proxy.health_checker.active\n\t}\n',
  )
  if (quietText === text) throw new Error(`${CADDYFILE} does not begin with its global options`)
  const file = path.join(folder, 'Caddyfile')
  await writeFile(file, quietText)
  return file
}

/** Returns the origin of the public MCP server behind a local gateway. Its host must differ from `localhost`, the host of the main origin. */
export const toPublicMcpOrigin = (port: number) => `http://127.0.0.1:${port}`

/**
 * Starts Caddy with a Caddyfile, by default that of the project.
 *
 * @param variables the environment variables that the Caddyfile reads
 */
export function startGatewayWithVariables(
  variables: Readonly<Record<string, string>>,
  { program, folder }: { program: string; folder: string },
  caddyfile = CADDYFILE,
): Promise<ManagedProcess> {
  return startManagedProcess({
    name: 'gateway',
    command: [program, 'run', '--config', caddyfile, '--adapter', 'caddyfile'],
    env: { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder, ...variables },
    logFile: `${folder}/gateway.log`,
    readyLine: 'serving initial configuration',
  })
}
