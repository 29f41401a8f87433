import path from 'node:path'
import { parseArgs } from 'node:util'
import type { AppName } from '@plainpath/metadata'
import { FIXED_PORT_COUNT, MAX_INSTANCES } from './stack-ports.ts'

/** The parsed command line of `npm run stack`. */
export type StackCommand =
  | { readonly kind: 'help' }
  | { readonly kind: 'usage-error'; readonly text: string }
  | { readonly kind: 'add'; readonly app: AppName; readonly folder: string }
  | {
      readonly kind: 'start'
      readonly port: number
      /** The absolute path of the folder with stores and logs. */
      readonly folder: string
      readonly instances: Readonly<Record<AppName, number>>
      /** The first of the fixed ports; undefined to use free ports. */
      readonly basePort: number | undefined
      /** True to restart a process that ends by itself. */
      readonly shouldRestart: boolean
      /** Settings for the apps. */
      readonly settings: Readonly<Record<string, string>>
      /** Environment variables for libraries in the processes of the apps. */
      readonly processEnv: Readonly<Record<string, string>>
    }

export const STACK_USAGE = `npm run stack: runs the whole topology on this machine, as plain processes, until Ctrl-C

  npm run stack -- [--auth N] [--resource N] [--base-port P] [--no-restart]
  npm run stack -- --add auth|resource

Options:
  --auth N, --resource N                how many instances of each app start, 1 to ${MAX_INSTANCES}; default 2
  --base-port P                         gives each process a fixed port instead of a free one:
                                          P          PostgreSQL
                                          P+1        Redis
                                          P+2        Prometheus
                                          P+3        mailbox
                                          P+4        SMTP server of the mailbox
                                          P+10*N     auth-N
                                          P+10*N+1   operations listener of auth-N
                                          P+10*N+2   internal listener of auth-N
                                          P+10*N+5   resource-N
                                          P+10*N+6   operations listener of resource-N
  --no-restart                          does not restart a process that ends by itself
  --add APP                             adds an instance of auth or resource to the running stack, until Ctrl-C. Run this in
                                        another terminal, with the same DATA_DIR. An app has at most ${MAX_INSTANCES} instances

Environment variables:
  PORT                                  port of the gateway; default 8080
  DATA_DIR                              folder of stores and logs; default .data/stack
  AUTH_OTLP_URL, RESOURCE_OTLP_URL      passed on to the apps: where they send traces, such as http://127.0.0.1:4318
  OTEL_EXPORTER_OTLP_HEADERS, OTEL_EXPORTER_OTLP_CERTIFICATE
                                        passed on to the apps: headers and certificate for the collector`

/** Environment variables that the stack passes on to the apps as settings. */
const PASSED_SETTINGS = ['AUTH_OTLP_URL', 'RESOURCE_OTLP_URL']
/** Environment variables that the stack passes on to the processes of the apps, where the OpenTelemetry exporter reads them. */
const PASSED_PROCESS_VARIABLES = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_CERTIFICATE']

const MAX_PORT = 65_535
const MAX_BASE_PORT = MAX_PORT - FIXED_PORT_COUNT + 1

/**
 * Parses the command line and the environment variables.
 *
 * @param args the arguments after the script path
 * @param projectFolder the folder against which a relative `DATA_DIR` is resolved
 */
export function parseStackCommand(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  projectFolder: string,
): StackCommand {
  const usageError = (text: string) => ({ kind: 'usage-error', text }) as const
  let options: ReturnType<typeof parseOptions>
  try {
    options = parseOptions(args)
  } catch (error) {
    return usageError(`${(error as Error).message}\n\n${STACK_USAGE}`)
  }
  if (options.help) return { kind: 'help' }
  const folder = path.resolve(projectFolder, env['DATA_DIR'] || '.data/stack')
  if (options.add !== undefined) {
    if (options.add !== 'auth' && options.add !== 'resource')
      return usageError('--add must name an app: auth or resource.')
    if (Object.keys(options).length > 1)
      return usageError('--add cannot be combined with other options: the running stack determines them.')
    return { kind: 'add', app: options.add, folder }
  }
  const port = parseNumber(env['PORT'] || '8080', 1, MAX_PORT)
  if (port === undefined) return usageError(`PORT must be a number from 1 to ${MAX_PORT}.`)
  const auth = parseNumber(options.auth ?? '2', 1, MAX_INSTANCES)
  if (auth === undefined) return usageError(`--auth must be a number from 1 to ${MAX_INSTANCES}.`)
  const resource = parseNumber(options.resource ?? '2', 1, MAX_INSTANCES)
  if (resource === undefined) return usageError(`--resource must be a number from 1 to ${MAX_INSTANCES}.`)
  const basePort =
    options['base-port'] === undefined ? undefined : parseNumber(options['base-port'], 1, MAX_BASE_PORT)
  if (options['base-port'] !== undefined && basePort === undefined)
    return usageError(`--base-port must be a number from 1 to ${MAX_BASE_PORT}.`)
  if (basePort !== undefined && port >= basePort && port < basePort + FIXED_PORT_COUNT)
    return usageError(
      `--base-port ${basePort} uses the ports ${basePort} to ${basePort + FIXED_PORT_COUNT - 1}, but the gateway uses PORT ${port}. Change one of them.`,
    )
  const selectVariables = (names: readonly string[]) =>
    Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]] as const] : [])))
  return {
    kind: 'start',
    port,
    folder,
    instances: { auth, resource },
    basePort,
    shouldRestart: !options['no-restart'],
    settings: selectVariables(PASSED_SETTINGS),
    processEnv: selectVariables(PASSED_PROCESS_VARIABLES),
  }
}

/** @throws {TypeError} for an unknown option or a missing value */
const parseOptions = (args: readonly string[]) =>
  parseArgs({
    args: [...args],
    options: {
      help: { type: 'boolean', short: 'h' },
      auth: { type: 'string' },
      resource: { type: 'string' },
      'base-port': { type: 'string' },
      'no-restart': { type: 'boolean' },
      add: { type: 'string' },
    },
  }).values

function parseNumber(text: string, min: number, max: number): number | undefined {
  if (!/^\d{1,5}$/.test(text)) return undefined
  const number = Number(text)
  return number >= min && number <= max ? number : undefined
}
