import { fileURLToPath } from 'node:url'
import { shutdownSignal } from '@plainpath/http'
import { freePorts } from '@plainpath/http/free-ports'
import { findDebianPrograms } from './debian-program.ts'
import { STACK_USAGE, type StackCommand, stackCommand } from './stack-command.ts'
import { startMailbox } from './start-mailbox.ts'
import { startPrometheus } from './start-prometheus.ts'
import { startStack } from './start-stack.ts'

const print = (line: string) => console.log(line)

async function run(start: Extract<StackCommand, { kind: 'start' }>): Promise<void> {
  const { port, folder, processEnv } = start
  const stopped = shutdownSignal()
  print('Starting the whole topology as plain processes')
  const { prometheus: program } = await findDebianPrograms(['prometheus'], process.env['PATH'] ?? '')
  const [mailPort = 0, metricsPort = 0] = await freePorts(2)
  await using mailbox = await startMailbox(mailPort)
  const settings = { ...start.settings, AUTH_SMTP_URL: mailbox.smtpUrl, RESOURCE_SMTP_URL: mailbox.smtpUrl }
  await using stack = await startStack({ port, folder, settings, processEnvFor: () => processEnv, print })
  print(`Mail           ${mailbox.url}`)
  await using prometheus = await startPrometheus({
    program,
    port: metricsPort,
    folder,
    apps: stack,
    scrapeSeconds: 5,
  })
  print(`Prometheus     ${prometheus.url}`)
  for (const [name, url] of Object.entries(start.settings)) print(`Traces         ${url}  (${name})`)
  print(`\nReady: ${stack.origin}. Ctrl-C stops everything; the data stays in ${folder}.`)
  await stopped
  print('Stopping')
}

/** Errors whose message says what to do; others are printed with their stack. */
const ONE_LINE_ERRORS = new Set(['MissingPrograms', 'EmbeddedPostgresError'])

const project = fileURLToPath(new URL('../../..', import.meta.url))
const command = stackCommand(process.argv.slice(2), process.env, project)
if (command.kind === 'help') print(STACK_USAGE)
else if (command.kind === 'mistake') {
  console.error(command.text)
  process.exitCode = 2
} else {
  await run(command).catch((error: unknown) => {
    if (!(error instanceof Error)) throw error
    console.error(ONE_LINE_ERRORS.has(error.name) ? error.message : error.stack)
    process.exitCode = 1
  })
}
