import { fileURLToPath } from 'node:url'
import { shutdownSignal } from '@plainpath/http'
import { debianPrograms } from './debian-program.ts'
import { freePorts } from './managed-process.ts'
import { startMailbox } from './start-mailbox.ts'
import { startPrometheus } from './start-prometheus.ts'
import { startStack } from './start-stack.ts'

const say = (line: string) => console.log(line)
const stopped = shutdownSignal()
const port = Number(process.env['PORT'] ?? '8080')
const folder = process.env['DATA_DIR'] ?? fileURLToPath(new URL('../../../.data/stack', import.meta.url))

try {
  say('Starting the whole topology as plain processes')
  const { prometheus: program } = await debianPrograms(['prometheus'], process.env['PATH'] ?? '')
  const [mailPort = 0, metricsPort = 0] = await freePorts(2)
  await using mailbox = await startMailbox(mailPort)
  const settings = { AUTH_SMTP_URL: mailbox.smtpUrl, RESOURCE_SMTP_URL: mailbox.smtpUrl }
  await using stack = await startStack({ port, folder, settings, say })
  say(`Mail           ${mailbox.url}`)
  await using prometheus = await startPrometheus({
    program,
    port: metricsPort,
    folder,
    apps: stack,
    scrapeSeconds: 5,
  })
  say(`Prometheus     ${prometheus.url}`)
  say(`\nReady: ${stack.origin}. Ctrl-C stops everything; the data stays in ${folder}.`)
  await stopped
  say('Stopping')
} catch (error) {
  if (!(error instanceof Error)) throw error
  console.error(
    error.name === 'MissingPrograms' || error.name === 'EmbeddedPostgresError' ? error.message : error.stack,
  )
  process.exitCode = 1
}
