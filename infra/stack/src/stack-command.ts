import path from 'node:path'
import { parseArgs } from 'node:util'

/** The parsed command line of `npm run stack`. */
export type StackCommand =
  | { readonly kind: 'help' }
  | { readonly kind: 'mistake'; readonly text: string }
  | {
      readonly kind: 'start'
      readonly port: number
      /** Absolute. */
      readonly folder: string
      /** Settings of the apps. */
      readonly settings: Readonly<Record<string, string>>
      /** Environment variables that libraries in the processes of the apps read. */
      readonly processEnv: Readonly<Record<string, string>>
    }

export const STACK_USAGE = `npm run stack: runs the whole topology on this machine, as plain processes, until Ctrl-C

  PORT                                  port of the gateway; default 8080
  DATA_DIR                              folder of stores and logs; default .data/stack
  AUTH_OTLP_URL, RESOURCE_OTLP_URL      passed on to the apps: where they send traces, such as http://127.0.0.1:4318
  OTEL_EXPORTER_OTLP_HEADERS, OTEL_EXPORTER_OTLP_CERTIFICATE
                                        passed on to the apps: headers and certificate for the collector`

const SETTINGS = ['AUTH_OTLP_URL', 'RESOURCE_OTLP_URL']
const PROCESS_VARIABLES = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_CERTIFICATE']

/** Parses the command line. @param args without `node` and the file */
export function stackCommand(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  projectFolder: string,
): StackCommand {
  try {
    const { values } = parseArgs({ args: [...args], options: { help: { type: 'boolean', short: 'h' } } })
    if (values.help) return { kind: 'help' }
  } catch (error) {
    return { kind: 'mistake', text: `${(error as Error).message}\n\n${STACK_USAGE}` }
  }
  const port = env['PORT'] || '8080'
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535)
    return { kind: 'mistake', text: 'PORT must be a number from 1 to 65535.' }
  const pick = (names: readonly string[]) =>
    Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]] as const] : [])))
  return {
    kind: 'start',
    port: Number(port),
    folder: path.resolve(projectFolder, env['DATA_DIR'] || '.data/stack'),
    settings: pick(SETTINGS),
    processEnv: pick(PROCESS_VARIABLES),
  }
}
