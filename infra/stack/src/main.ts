import { fileURLToPath } from 'node:url'
import { shutdownSignal } from '@plainpath/http'
import { freePorts } from '@plainpath/http/free-ports'
import { debianPrograms } from './debian-program.ts'
import { STACK_USAGE, type StackCommand, stackCommand } from './stack-command.ts'
import { startMailbox } from './start-mailbox.ts'
import { startPrometheus } from './start-prometheus.ts'
import { startStack } from './start-stack.ts'

const say = (line: string) => console.log(line)

async function run(start: Extract<StackCommand, { kind: 'start' }>): Promise<void> {
  const { port, folder, surroundings } = start
  const stopped = shutdownSignal()
  say('Starting the whole topology as plain processes')
  const { prometheus: program } = await debianPrograms(['prometheus'], process.env['PATH'] ?? '')
  const [mailPort = 0, metricsPort = 0] = await freePorts(2)
  await using mailbox = await startMailbox(mailPort)
  const settings = { ...start.settings, AUTH_SMTP_URL: mailbox.smtpUrl, RESOURCE_SMTP_URL: mailbox.smtpUrl }
  await using stack = await startStack({ port, folder, settings, surroundingsOf: () => surroundings, say })
  say(`Mail           ${mailbox.url}`)
  await using prometheus = await startPrometheus({
    program,
    port: metricsPort,
    folder,
    apps: stack,
    scrapeSeconds: 5,
  })
  say(`Prometheus     ${prometheus.url}`)
  for (const [name, url] of Object.entries(start.settings)) say(`Traces         ${url}  (${name})`)
  say(`\nReady: ${stack.origin}. Ctrl-C stops everything; the data stays in ${folder}.`)
  await stopped
  say('Stopping')
}

const PLAIN = new Set(['MissingPrograms', 'EmbeddedPostgresError'])

const project = fileURLToPath(new URL('../../..', import.meta.url))
const command = stackCommand(process.argv.slice(2), process.env, project)
if (command.kind === 'help') say(STACK_USAGE)
else if (command.kind === 'mistake') {
  console.error(command.text)
  process.exitCode = 2
} else {
  await run(command).catch((error: unknown) => {
    if (!(error instanceof Error)) throw error
    console.error(PLAIN.has(error.name) ? error.message : error.stack)
    process.exitCode = 1
  })
}
